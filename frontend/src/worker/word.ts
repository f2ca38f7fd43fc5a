/**
 * A block in one u32, as the map and the chips of the block tables need it:
 *
 *     bits 0-1   class: 0 free, 1 cached, 2 active, 3 shared
 *     bits 2-11  ref count, at most 1023
 *     bits 12-18 filled, in 127ths of the block size
 *     bit  19    holds content
 *     bits 20-31 shade, where the map is coloured by something else than states (`shades.ts`)
 */

import type { Blocks } from '../ledger/blocks';
import { NONE } from '../ledger/generated/constants';

/** The bits that a fill changes. */
export const FILLED_BITS = 127 << 12;
export const SHADE_AT = 20;
/** All bits but those of the shade. */
export const STATE_BITS = (1 << SHADE_AT) - 1;

/** How full a block is, in the bits of its word: by the number of its tokens. */
function fills(blockSize: number): Uint32Array {
  return Uint32Array.from(
    { length: blockSize + 1 },
    (_, filled) => Math.round((filled * 127) / blockSize) << 12,
  );
}

/** Packs blocks of one size. */
export class Packer {
  private readonly fills: Uint32Array;

  constructor(readonly blockSize: number) {
    this.fills = fills(blockSize);
  }

  word(blocks: Blocks, b: number): number {
    const count = blocks.count[b]!;
    // A block that is overfull is a fault, and full.
    const filled = this.fills[Math.min(blocks.filled[b]!, this.blockSize)]!;
    return (
      blocks.kind[b]! | (Math.min(count, 1023) << 2) | filled | (blocks.content[b] === NONE ? 0 : 1 << 19)
    );
  }

  /**
   * Bring the words of all blocks up to date; the blocks whose word changed enter `changed`. Returns how many. Where a look at
   * some says that it is a good part of a large pool, all count as changed, and are not listed.
   */
  update(blocks: Blocks, words: Uint32Array, changed: Uint32Array): number {
    const { count, filled, kind, content, kernels } = blocks;
    const { fills, blockSize } = this;
    let found = kernels === null ? 0 : renewed(words, kernels.words(blockSize), changed);
    for (let b = kernels?.rest ?? 0; b < words.length; b++) {
      const held = count[b]!;
      const full = filled[b]!;
      const word =
        kind[b]! |
        (Math.min(held, 1023) << 2) |
        fills[Math.min(full, blockSize)]! |
        (content[b] === NONE ? 0 : 1 << 19);
      if (words[b] !== word) {
        words[b] = word;
        changed[found++] = b;
      }
    }
    return found;
  }
}

/** Words that are looked at to guess how many changed, and the part of them from which on all count. */
const SAMPLED = 1024;
const GOOD_PART = 0.2;

function renewed(words: Uint32Array, now: Uint32Array, changed: Uint32Array): number {
  const every = Math.floor(now.length / SAMPLED);
  let differing = 0;
  for (let b = 0; b < now.length; b += every) if (words[b] !== now[b]) differing++;
  if (differing < GOOD_PART * SAMPLED) return replaced(words, now, changed);
  words.set(now);
  return now.length;
}

/** Bring words up to date with those that are `now`; the places of the others enter `changed`. Returns how many. */
function replaced(words: Uint32Array, now: Uint32Array, changed: Uint32Array): number {
  let found = 0;
  for (let b = 0; b < now.length; b++) {
    const word = now[b]!;
    if (words[b] !== word) {
      words[b] = word;
      changed[found++] = b;
    }
  }
  return found;
}

/** The word of a block, as the page has it. */
export type WordOf = (block: number) => number;

export const classOf = (word: number): number => word & 3;
export const countOf = (word: number): number => (word >>> 2) & 1023;
export const filledOf = (word: number): number => ((word >>> 12) & 127) / 127;
export const shadeOf = (word: number): number => word >>> SHADE_AT;
export const hasContent = (word: number): boolean => (word & (1 << 19)) !== 0;
