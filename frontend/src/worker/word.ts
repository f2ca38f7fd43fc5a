/**
 * A block in one u32, as the map and the chips of the block tables need it:
 *
 *     bits 0-1   class: 0 free, 1 cached, 2 active, 3 shared
 *     bits 2-11  ref count, at most 1023
 *     bits 12-18 filled, in 127ths of the block size
 *     bit  19    holds content
 */

import type { Blocks } from '../ledger/blocks';
import { NONE } from '../ledger/generated/constants';

/** The bits that a fill changes. */
export const FILLED_BITS = 127 << 12;

export function packBlock(blocks: Blocks, b: number, blockSize: number): number {
  const count = blocks.count[b]!;
  const filled = Math.min(127, Math.round((blocks.filled[b]! * 127) / blockSize));
  return (
    blocks.kind[b]! |
    (Math.min(count, 1023) << 2) |
    (filled << 12) |
    (blocks.content[b] === NONE ? 0 : 1 << 19)
  );
}

export const classOf = (word: number): number => word & 3;
export const countOf = (word: number): number => (word >>> 2) & 1023;
export const filledOf = (word: number): number => ((word >>> 12) & 127) / 127;
export const hasContent = (word: number): boolean => (word & (1 << 19)) !== 0;
