/**
 * The columns of all blocks as a keyframe carries them, each as narrow as its values allow: how wide it is follows from its
 * length and the pool's. The twin of `kvarium_ledger.block_columns`.
 */

import { f64, i32, u16, u32 } from './columns';
import { FrameError } from './frame';
import { NONE } from './generated/constants';

/** The columns of words, with the value that an absent one has for every block. */
export const WORDS = [
  ['generation', 0],
  ['count', 0],
  ['content', NONE],
  ['filled', 0],
  ['hits', 0],
] as const;

/** The ticket, as an i32, of a block that is not queued. */
export const NOT_QUEUED = -(2 ** 31);

function width(raw: Uint8Array, size: number, name: string, widths: readonly number[]): number {
  const found = raw.length / size;
  if (widths.includes(found)) return found;
  const lawful = widths.map((each) => each * size).join(', ');
  throw new FrameError(`keyframe column '${name}' has ${raw.length} bytes, ${size} blocks have ${lawful}`);
}

/** A column of u32, told as u8, u16 or u32; null: every block has the default. */
export function wordColumn(
  raw: Uint8Array | undefined,
  size: number,
  name: string,
): Uint8Array | Uint16Array | Uint32Array | null {
  if (raw === undefined || raw.length === 0) return null;
  const bytes = width(raw, size, name, [1, 2, 4]);
  if (bytes === 1) return raw;
  return bytes === 2 ? u16(raw, name) : u32(raw, name);
}

/** The tickets, told as i32 (with {@link NOT_QUEUED}) or f64 (with NaN); null: every block has its number. */
export function ticketColumn(raw: Uint8Array | undefined, size: number): Int32Array | Float64Array | null {
  if (raw === undefined || raw.length === 0) return null;
  return width(raw, size, 'ticket', [4, 8]) === 4 ? i32(raw, 'ticket') : f64(raw, 'ticket');
}
