/**
 * The blocks that nobody holds, in the order of the free queue: the head first, and last, by number, those that are in no queue.
 *
 *     list before   7  3 [9] 4  1      [9] left, or has another ticket
 *     moved          9' 2              sorted; the rest is in order still
 *     list now      7  3  4  2  1  9'
 *
 * Of a million blocks a step moves some hundred, so what is sorted is what moved.
 */

import type { Fold } from '../ledger/fold';

/** In place of a ticket: it isn't free, and it is free but in no queue. */
const HELD = Number.NEGATIVE_INFINITY;
const UNQUEUED = Number.POSITIVE_INFINITY;

export class QueueOrder {
  private list: Uint32Array = new Uint32Array(0);
  /** Where the next list goes, and in which the present one is. */
  private room: Uint32Array;
  private taken: Uint32Array;
  /** The place with which each block stands in the list. */
  private readonly place: Float64Array;
  private readonly isMoved: Uint8Array;

  constructor(size: number) {
    this.place = new Float64Array(size).fill(HELD);
    this.isMoved = new Uint8Array(size);
    this.room = new Uint32Array(size);
    this.taken = new Uint32Array(size);
  }

  /** `owners`: who has each block, 0 for nobody. What is returned is overwritten by the next call but one. */
  find({ blocks: { count, ticket, size } }: Fold, owners: Uint32Array): Uint32Array {
    const { place, isMoved, list, room } = this;
    let left = 0;
    const moved: number[] = [];
    for (let b = 0; b < size; b++) {
      const queued = ticket[b]!;
      const now = count[b]! > 0 || owners[b] !== 0 ? HELD : Number.isNaN(queued) ? UNQUEUED : queued;
      if (now === place[b]) continue;
      if (place[b] !== HELD) {
        isMoved[b] = 1;
        left++;
      }
      place[b] = now;
      if (now !== HELD) moved.push(b);
    }
    if (moved.length === 0 && left === 0) return list;
    this.sort(moved);
    let [at, from] = [0, 0];
    for (let i = 0; i < list.length; i++) {
      const b = list[i]!;
      if (isMoved[b] === 1) {
        isMoved[b] = 0;
        continue;
      }
      while (from < moved.length && this.isBefore(moved[from]!, b)) room[at++] = moved[from++]!;
      room[at++] = b;
    }
    while (from < moved.length) room[at++] = moved[from++]!;
    this.list = room.subarray(0, at);
    [this.room, this.taken] = [this.taken, room];
    return this.list;
  }

  private isBefore(a: number, b: number): boolean {
    const { place } = this;
    return place[a]! < place[b]! || (place[a] === place[b] && a < b);
  }

  private sort(blocks: number[]): void {
    // As at the start of a session.
    if (blocks.every((b, i) => i === 0 || this.isBefore(blocks[i - 1]!, b))) return;
    blocks.sort((a, b) => (this.isBefore(a, b) ? -1 : 1));
  }
}
