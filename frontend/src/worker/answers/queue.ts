/** The free queue: who goes next, by ascending ticket. */

import type { Blocks } from '../../ledger/blocks';
import { NONE } from '../../ledger/generated/constants';

export interface QueueAnswer {
  /** The first blocks, head first. */
  readonly head: Uint32Array;
  readonly length: number;
  /** What the head would lose: a content, or `NONE`. */
  readonly loses: number;
  /** How its text begins; null: not known. */
  readonly start: string | null;
  readonly hits: number;
}

/** The `k` queued blocks with the lowest tickets, in order: one pass with a bounded heap, no sort of the whole. */
export function headOfQueue(blocks: Blocks, k: number): Uint32Array {
  const { ticket, size } = blocks;
  if (k <= 0) return new Uint32Array(0);
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
  for (let b = 0; b < size; b++) {
    const t = ticket[b]!;
    // Neither true for NaN: a block in use.
    if (heap.length < k) {
      if (Number.isNaN(t)) continue;
      heap.push(b);
      for (let i = heap.length - 1; i > 0; ) {
        const parent = (i - 1) >> 1;
        if (!higher(heap[i]!, heap[parent]!)) break;
        [heap[i], heap[parent]] = [heap[parent]!, heap[i]!];
        i = parent;
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
  };
}
