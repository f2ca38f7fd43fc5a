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
import { QueueOrder } from './queueOrder';

export const ORDERS = ['number', 'owner'] as const;
export type Order = (typeof ORDERS)[number];

/** Which block lies in which cell, and the other way round; null: the one whose number it is. */
export interface Arrangement {
  readonly blockAt: Uint32Array | null;
  readonly cellOf: Uint32Array | null;
  /** Cells that belong together: the first cell of each group and whose it is, a request or one of {@link Whose}; two numbers each. */
  readonly groups: Uint32Array;
}

export const BY_NUMBER: Arrangement = { blockAt: null, cellOf: null, groups: new Uint32Array(0) };

/** Held by no sequence; free with content; free without. */
export const Whose = { pinned: 0xfffffffd, cached: 0xfffffffe, free: 0xffffffff } as const;

/** ms that it may take to be made at once where the view stands; else at most one part in so many of the time. */
const CHEAP = 8;
const SHARE = 10;
/** ms between two while the view goes on by itself: a map that can be read. */
const INTERVAL = 400;

export class OwnerOrder {
  readonly blockAt: Uint32Array;
  readonly cellOf: Uint32Array;
  groups: Uint32Array = new Uint32Array(0);
  /** Grows with each that is made. */
  version = 0;
  private readonly owners = new Owners();
  private readonly queue: QueueOrder;
  private state = '';
  private madeAt = Number.NEGATIVE_INFINITY;
  private cost = 0;

  constructor(numBlocks: number) {
    this.blockAt = new Uint32Array(numBlocks);
    this.cellOf = new Uint32Array(numBlocks);
    this.queue = new QueueOrder(numBlocks);
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
    const groups: number[] = [];
    let at = this.placeOwned(owners, groups);
    const pinned = at;
    for (let b = 0; b < count.length; b++) if (owners[b] === 0 && count[b]! > 0) blockAt[at++] = b;
    const queue = this.queue.find(fold, owners);
    const cached = at;
    for (let i = 0; i < queue.length; i++) if (content[queue[i]!] !== NONE) blockAt[at++] = queue[i]!;
    const free = at;
    for (let i = 0; i < queue.length; i++) if (content[queue[i]!] === NONE) blockAt[at++] = queue[i]!;
    if (cached > pinned) groups.push(pinned, Whose.pinned);
    if (free > cached) groups.push(cached, Whose.cached);
    if (at > free) groups.push(free, Whose.free);
    this.groups = Uint32Array.from(groups);
    for (let cell = 0; cell < blockAt.length; cell++) cellOf[blockAt[cell]!] = cell;
    this.state = stateOf(fold);
    this.version++;
    this.madeAt = performance.now();
    this.cost = this.madeAt - begin;
  }

  /** A request after the other, each a group; returns the first cell behind them. */
  private placeOwned(owners: Uint32Array, groups: number[]): number {
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
      groups.push(end, owner - 1);
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

function stateOf({ record, op }: Fold): string {
  return `${record} ${op}`;
}
