/**
 * In which order blocks lie on the map: by their number, or by who has them.
 *
 *     by owner   r3 r3 r3 | r5 r5 | pinned | cached, free: the head of the queue first | free: the same
 *                └ a request after the other, each's blocks as its tables have them
 *
 * A permutation, made here: the page has a word a cell then, and draws as it does without one.
 */

import type { Fold } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import { Owners } from './owners';

export const ORDERS = ['number', 'owner'] as const;
export type Order = (typeof ORDERS)[number];

/** Which block lies in which cell, and the other way round; null: the one whose number it is. */
export interface Arrangement {
  readonly blockAt: Uint32Array | null;
  readonly cellOf: Uint32Array | null;
}

/** ms that it may take to be made at once where the view stands; else at most one part in so many of the time. */
const CHEAP = 8;
const SHARE = 10;
/** ms between two while the view goes on by itself: a map that can be read. */
const INTERVAL = 400;

export class OwnerOrder {
  readonly blockAt: Uint32Array;
  readonly cellOf: Uint32Array;
  /** Grows with each that is made. */
  version = 0;
  private readonly owners = new Owners();
  private state = '';
  private madeAt = Number.NEGATIVE_INFINITY;
  private cost = 0;

  constructor(numBlocks: number) {
    this.blockAt = new Uint32Array(numBlocks);
    this.cellOf = new Uint32Array(numBlocks);
  }

  /** ms until it should be made of the state that a fold has now; null: it is of that state. */
  due(fold: Fold, stands: boolean, now: number): number | null {
    if (!fold.loaded || stateOf(fold) === this.state) return null;
    if (this.version === 0 || (stands && this.cost <= CHEAP)) return 0;
    return Math.max(0, this.madeAt + Math.max(stands ? 0 : INTERVAL, SHARE * this.cost) - now);
  }

  make(fold: Fold): void {
    const begin = performance.now();
    const { blockAt, cellOf } = this;
    const { count, content } = fold.blocks;
    const owners = this.owners.find(fold);
    let at = this.placeOwned(owners);
    for (let b = 0; b < count.length; b++) if (owners[b] === 0 && count[b]! > 0) blockAt[at++] = b;
    const free = queueOf(fold, owners);
    for (let i = 0; i < free.length; i++) if (content[free[i]!] !== NONE) blockAt[at++] = free[i]!;
    for (let i = 0; i < free.length; i++) if (content[free[i]!] === NONE) blockAt[at++] = free[i]!;
    for (let cell = 0; cell < blockAt.length; cell++) cellOf[blockAt[cell]!] = cell;
    this.state = stateOf(fold);
    this.version++;
    this.madeAt = performance.now();
    this.cost = this.madeAt - begin;
  }

  /** A request after the other; returns the first cell behind them. */
  private placeOwned(owners: Uint32Array): number {
    const { walked } = this.owners;
    const places = new Map<number, number>();
    for (let i = 0; i < walked.length; i++) {
      const owner = owners[walked[i]!]!;
      places.set(owner, (places.get(owner) ?? 0) + 1);
    }
    let end = 0;
    for (const owner of [...places.keys()].sort((a, b) => a - b)) {
      const held = places.get(owner)!;
      places.set(owner, end);
      end += held;
    }
    for (let i = 0; i < walked.length; i++) {
      const owner = owners[walked[i]!]!;
      const cell = places.get(owner)!;
      this.blockAt[cell] = walked[i]!;
      places.set(owner, cell + 1);
    }
    return end;
  }
}

/** The blocks that nobody holds, the head of the queue first; those that are in no queue last, by number. */
function queueOf({ blocks: { count, ticket, size } }: Fold, owners: Uint32Array): Uint32Array {
  const found = new Uint32Array(size);
  let queued = 0;
  let others = 0;
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let b = 0; b < size; b++) {
    if (count[b]! > 0 || owners[b] !== 0) continue;
    const place = ticket[b]!;
    if (Number.isNaN(place)) {
      found[size - ++others] = b;
      continue;
    }
    found[queued++] = b;
    if (place < lowest) lowest = place;
    if (place > highest) highest = place;
  }
  const order = found.subarray(0, queued);
  // Ticket and block in one number, where there is room: numbers are sorted ten times as fast as by a function.
  if ((highest - lowest + 1) * size <= Number.MAX_SAFE_INTEGER) {
    const keys = new Float64Array(queued);
    for (let i = 0; i < queued; i++) keys[i] = (ticket[order[i]!]! - lowest) * size + order[i]!;
    keys.sort();
    for (let i = 0; i < queued; i++) order[i] = keys[i]! % size;
  } else order.sort((a, b) => ticket[a]! - ticket[b]! || a - b);
  found.subarray(size - others).reverse();
  found.copyWithin(queued, size - others);
  return found.subarray(0, queued + others);
}

function stateOf({ record, op }: Fold): string {
  return `${record} ${op}`;
}
