/**
 * The block columns of keyframes that were brought, narrow as they came, so that a seek need only bring what changed since one:
 *
 *     records   ●──────────────●─────────────────●──────────────────▶   ● bases
 *                              └──▶ × a seek to here is answered since the last base before it
 *
 * They are bounded by bytes. When that is reached, the one goes that is closest to its lower neighbour: so they stay spread
 * over the session.
 */

import type { Base } from '../ledger/difference';
import type { BlockColumns, Keyframe } from '../ledger/generated/types';

interface Kept extends Base {
  readonly bytes: number;
}

export class Bases {
  /** By record. */
  private readonly list: Kept[] = [];
  bytes = 0;

  /** `most`: bytes of columns, of all together; 0: nothing is kept. */
  constructor(private readonly most: number) {}

  /** Is anything kept at all? */
  get isKept(): boolean {
    return this.most > 0;
  }

  get count(): number {
    return this.list.length;
  }

  /** The last one at or before a record; null: there is none. */
  before(record: number): Base | null {
    return this.list.findLast((each) => each.record <= record) ?? null;
  }

  /** Keep the columns of a keyframe that tells of all blocks. */
  add({ record, blocks = {} }: Keyframe): void {
    const place = this.list.findLastIndex((each) => each.record <= record);
    const bytes = Object.values(blocks).reduce((sum: number, column: Uint8Array) => sum + column.length, 0);
    if (!this.isKept || bytes > this.most || this.list[place]?.record === record) return;
    // Copies: views of the answer would keep all of it alive.
    const columns: BlockColumns = Object.fromEntries(
      Object.entries(blocks).map(([name, column]: [string, Uint8Array]) => [name, column.slice()]),
    );
    this.list.splice(place + 1, 0, { record, columns, bytes });
    this.bytes += bytes;
    while (this.bytes > this.most) this.drop(this.closest());
  }

  /** Which one is closest to its lower neighbour. The first has none, and all that comes before the second needs it. */
  private closest(): number {
    let best = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 1; i < this.list.length; i++) {
      const distance = this.list[i]!.record - this.list[i - 1]!.record;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  private drop(place: number): void {
    for (const { bytes } of this.list.splice(place, 1)) this.bytes -= bytes;
  }

  /** Forget what comes after a record. */
  truncate(last: number): void {
    while ((this.list.at(-1)?.record ?? -1) > last) this.drop(this.list.length - 1);
  }
}
