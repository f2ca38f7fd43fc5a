/** The owner of each block: the request of its first holder, the one with the lowest number. */

import type { Fold } from '../ledger/fold';

export class Owners {
  /** A request and one; 0: none. */
  private of = new Uint32Array(0);
  /** The blocks that have one, as the tables have them: by sequence, from the first block of its prompt on. */
  private listed = new Uint32Array(0);
  private count = 0;

  get walked(): Uint32Array {
    return this.listed.subarray(0, this.count);
  }

  find({ tables, requests, numBlocks }: Fold): Uint32Array {
    if (this.of.length === 0)
      [this.of, this.listed] = [new Uint32Array(numBlocks), new Uint32Array(numBlocks)];
    const { of, listed } = this;
    of.fill(0);
    let count = 0;
    const list = [...tables.map.values()].sort((a, b) => a.sequence - b.sequence || a.group - b.group);
    for (const table of list) {
      const owner = requests.memory.requestOf(table.sequence) + 1;
      for (let position = 0; position < table.end; position++) {
        const block = table.blocks[position]!;
        if (block >= numBlocks || of[block] !== 0 || owner === 0) continue;
        of[block] = owner;
        listed[count++] = block;
      }
    }
    this.count = count;
    return of;
  }
}
