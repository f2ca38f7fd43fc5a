/** The free queue: who goes next, by ascending ticket. */

import type { Blocks } from '../../ledger/blocks';
import { NONE } from '../../ledger/generated/constants';
import type { Moves } from '../moves';

export interface QueueAnswer {
  /** The first blocks, head first. */
  readonly head: Uint32Array;
  readonly length: number;
  /** What the head would lose: a content, or `NONE`. */
  readonly loses: number;
  /** How its text begins; null: not known. */
  readonly start: string | null;
  readonly hits: number;
  /** What the present step moved; null: its record is not here. */
  readonly moves: Moves | null;
}

/** Of so many blocks the tickets are looked at to guess where the head of the queue ends. */
const SAMPLED = 4096;

/**
 * A ticket below which about `some` blocks are queued, from a few blocks of all; infinite where all are looked at anyway.
 */
function guess({ ticket, size }: Blocks, some: number): number {
  if (size <= 4 * SAMPLED) return Number.POSITIVE_INFINITY;
  const sample = Float64Array.from({ length: SAMPLED }, (_, i) => ticket[Math.floor((i * size) / SAMPLED)]!)
    .filter((each) => !Number.isNaN(each))
    .sort();
  return sample[Math.ceil((some * SAMPLED) / size)] ?? Number.POSITIVE_INFINITY;
}

/** The `k` queued blocks with the lowest tickets, in order. */
export function headOfQueue(blocks: Blocks, k: number): Uint32Array {
  if (k <= 0) return new Uint32Array(0);
  const { ticket, size } = blocks;
  // In the worst order of tickets a heap is changed by every block: a first look leaves few to it, if the guess is good.
  const below = guess(blocks, 8 * k);
  if (below === Number.POSITIVE_INFINITY) return lowest(blocks, k, null);
  const few: number[] = [];
  for (let b = 0; b < size; b++) if (ticket[b]! < below) few.push(b);
  return lowest(blocks, k, few.length >= k ? few : null);
}

/** The `k` of them, or of all, by one pass with a bounded heap, no sort of the whole. */
function lowest(blocks: Blocks, k: number, among: readonly number[] | null): Uint32Array {
  const { ticket } = blocks;
  const size = among?.length ?? blocks.size;
  const heap: number[] = []; // the highest ticket on top
  const higher = (a: number, b: number): boolean => ticket[a]! > ticket[b]!;
  const sink = (): void => {
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      if (left >= heap.length) return;
      const right = left + 1;
      const child = right < heap.length && higher(heap[right]!, heap[left]!) ? right : left;
      if (!higher(heap[child]!, heap[i]!)) return;
      [heap[i], heap[child]] = [heap[child]!, heap[i]!];
      i = child;
    }
  };
  let highest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < size; i++) {
    const b = among === null ? i : among[i]!;
    const t = ticket[b]!;
    // Neither true for NaN: a block in use.
    if (heap.length < k) {
      if (Number.isNaN(t)) continue;
      heap.push(b);
      for (let at = heap.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1;
        if (!higher(heap[at]!, heap[parent]!)) break;
        [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
        at = parent;
      }
      if (heap.length === k) highest = ticket[heap[0]!]!;
    } else if (t < highest) {
      heap[0] = b;
      sink();
      highest = ticket[heap[0]!]!;
    }
  }
  return Uint32Array.from(heap.sort((a, b) => ticket[a]! - ticket[b]!));
}

/** The place of a block in the queue, from 0; null when it is not in it. */
export function rankInQueue(blocks: Blocks, block: number): number | null {
  const own = blocks.ticket[block]!;
  if (Number.isNaN(own)) return null;
  let rank = 0;
  for (let b = 0; b < blocks.size; b++) if (blocks.ticket[b]! < own) rank++;
  return rank;
}

export function queueAnswer(
  blocks: Blocks,
  k: number,
  startOf: (content: number) => string | null,
  moves: Moves | null,
): QueueAnswer {
  const head = headOfQueue(blocks, k);
  const next = head[0];
  const loses = next === undefined ? NONE : blocks.content[next]!;
  return {
    head,
    length: blocks.tally[0]! + blocks.tally[1]!,
    loses,
    start: loses === NONE ? null : startOf(loses),
    hits: next === undefined ? 0 : blocks.hits[next]!,
    moves,
  };
}
