/**
 * Digests: three lanes that a follower keeps up to date from what a record touched. The twin of `kvarium_ledger.digest`.
 *
 * A row of words w_0 ... w_k gives `fmix32(sum of w_i * M[lane][i] + S[lane][set])`, all modulo 2^32; a lane is the sum
 * of its rows. A float enters as the two u32 words of its bits, NaN always as 0x7FF80000 00000000. Sums are kept as
 * int32 here (the same bits) because that is what the machine adds fastest.
 */

import { MULTIPLIERS, SALTS } from './generated/constants';
import type { Digest } from './generated/types';

const [A, B] = MULTIPLIERS;
const A0 = A[0] | 0;
const A1 = A[1] | 0;
const A2 = A[2] | 0;
const A3 = A[3] | 0;
const A4 = A[4] | 0;
const A5 = A[5] | 0;
const A6 = A[6] | 0;
const B0 = B[0] | 0;
const B1 = B[1] | 0;
const B2 = B[2] | 0;
const B3 = B[3] | 0;
const B4 = B[4] | 0;
const B5 = B[5] | 0;
const B6 = B[6] | 0;
const BLOCKS_A = SALTS.blocks[0] | 0;
const BLOCKS_B = SALTS.blocks[1] | 0;
const TABLES_A = SALTS.tables[0] | 0;
const TABLES_B = SALTS.tables[1] | 0;
const REQUESTS_A = SALTS.requests[0] | 0;
const REQUESTS_B = SALTS.requests[1] | 0;
const NAN_HIGH = 0x7ff80000;

/** MurmurHash3's 32-bit finaliser. */
function fmix32(word: number): number {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** The value of a block's row in the first lane. */
export function blockRowA(
  block: number,
  generation: number,
  count: number,
  low: number,
  high: number,
  content: number,
  filled: number,
): number {
  return fmix32(
    (BLOCKS_A +
      Math.imul(block, A0) +
      Math.imul(generation, A1) +
      Math.imul(count, A2) +
      Math.imul(low, A3) +
      Math.imul(high, A4) +
      Math.imul(content, A5) +
      Math.imul(filled, A6)) |
      0,
  );
}

/** The value of a block's row in the second lane. */
export function blockRowB(
  block: number,
  generation: number,
  count: number,
  low: number,
  high: number,
  content: number,
  filled: number,
): number {
  return fmix32(
    (BLOCKS_B +
      Math.imul(block, B0) +
      Math.imul(generation, B1) +
      Math.imul(count, B2) +
      Math.imul(low, B3) +
      Math.imul(high, B4) +
      Math.imul(content, B5) +
      Math.imul(filled, B6)) |
      0,
  );
}

/** The columns of all blocks that enter the lane `blocks`, one value a block. */
export interface BlockRows {
  readonly generation: Uint32Array;
  readonly count: Uint32Array;
  readonly ticket: Float64Array;
  readonly content: Uint32Array;
  readonly filled: Uint32Array;
}

function signed(column: Uint32Array | Float64Array): Int32Array {
  return new Int32Array(column.buffer, column.byteOffset, column.byteLength >> 2);
}

/**
 * The values of all blocks' rows in both lanes, as {@link blockRowA} and {@link blockRowB} give them, into `rowA` and `rowB`;
 * returns the two sums. One loop, in which nothing is called and nothing is made: a seek waits for it.
 */
export function blockRows(columns: BlockRows, rowA: Int32Array, rowB: Int32Array): [number, number] {
  const { ticket } = columns;
  // As signed words: what a 32-bit register holds, with no detour by way of floats.
  const [generation, count, content, filled, words] = [
    signed(columns.generation),
    signed(columns.count),
    signed(columns.content),
    signed(columns.filled),
    signed(ticket),
  ];
  let sumA = 0;
  let sumB = 0;
  for (let b = 0; b < rowA.length; b++) {
    const g = generation[b]!;
    const c = count[b]!;
    const k = content[b]!;
    const f = filled[b]!;
    let low = words[2 * b]!;
    let high = words[2 * b + 1]!;
    if (Number.isNaN(ticket[b]!)) {
      low = 0;
      high = NAN_HIGH;
    }
    let a = (BLOCKS_A + Math.imul(b, A0)) | 0;
    a = (a + Math.imul(g, A1)) | 0;
    a = (a + Math.imul(c, A2)) | 0;
    a = (a + Math.imul(low, A3)) | 0;
    a = (a + Math.imul(high, A4)) | 0;
    a = (a + Math.imul(k, A5)) | 0;
    a = fmix32((a + Math.imul(f, A6)) | 0);
    let z = (BLOCKS_B + Math.imul(b, B0)) | 0;
    z = (z + Math.imul(g, B1)) | 0;
    z = (z + Math.imul(c, B2)) | 0;
    z = (z + Math.imul(low, B3)) | 0;
    z = (z + Math.imul(high, B4)) | 0;
    z = (z + Math.imul(k, B5)) | 0;
    z = fmix32((z + Math.imul(f, B6)) | 0);
    rowA[b] = a;
    rowB[b] = z;
    sumA = (sumA + a) | 0;
    sumB = (sumB + z) | 0;
  }
  return [sumA, sumB];
}

/** What all entries of one table have in common, in the first lane: the start of {@link tableRow}. */
export function tableBaseA(sequence: number, group: number): number {
  return (TABLES_A + Math.imul(sequence, A0) + Math.imul(group, A1)) | 0;
}

/** What all entries of one table have in common, in the second lane. */
export function tableBaseB(sequence: number, group: number): number {
  return (TABLES_B + Math.imul(sequence, B0) + Math.imul(group, B1)) | 0;
}

/** The value of a table entry in the first lane. */
export function tableRowA(base: number, position: number, block: number): number {
  return fmix32((base + Math.imul(position, A2) + Math.imul(block, A3)) | 0);
}

/** The value of a table entry in the second lane. */
export function tableRowB(base: number, position: number, block: number): number {
  return fmix32((base + Math.imul(position, B2) + Math.imul(block, B3)) | 0);
}

const float = new Float64Array(1);
const floatWords = new Uint32Array(float.buffer);

/** The values of a request's row in both lanes; `state` is its word. */
function requestRow(request: number, state: number, place: number): [number, number] {
  float[0] = place;
  const none = Number.isNaN(place);
  const low = none ? 0 : floatWords[0]!;
  const high = none ? NAN_HIGH : floatWords[1]!;
  const a =
    REQUESTS_A + Math.imul(request, A0) + Math.imul(state, A1) + Math.imul(low, A2) + Math.imul(high, A3);
  const b =
    REQUESTS_B + Math.imul(request, B0) + Math.imul(state, B1) + Math.imul(low, B2) + Math.imul(high, B3);
  return [fmix32(a | 0), fmix32(b | 0)];
}

export const LANES = ['blocks', 'tables', 'requests'] as const;
export type LaneName = (typeof LANES)[number];

/** The six running sums of a follower: a and b of blocks, of tables, of requests. */
export class Lanes {
  readonly sums = new Int32Array(6);

  /** A request's row is part of the state from now on; `state` is its word. */
  enterRequest(request: number, state: number, place: number): void {
    const [a, b] = requestRow(request, state, place);
    this.sums[4] = (this.sums[4]! + a) | 0;
    this.sums[5] = (this.sums[5]! + b) | 0;
  }

  /** A request's row, as it was entered, is no longer part of the state. */
  leaveRequest(request: number, state: number, place: number): void {
    const [a, b] = requestRow(request, state, place);
    this.sums[4] = (this.sums[4]! - a) | 0;
    this.sums[5] = (this.sums[5]! - b) | 0;
  }

  clear(): void {
    this.sums.fill(0);
  }

  copyFrom(other: Lanes): void {
    this.sums.set(other.sums);
  }

  /** The names of the lanes in which these sums differ from a record's digest. */
  differing(told: Digest): LaneName[] {
    return LANES.filter((name, lane) => {
      const raw = told[name];
      return (
        !(raw instanceof Uint8Array) ||
        raw.length !== 8 ||
        word(raw, 0) !== this.sums[2 * lane] ||
        word(raw, 4) !== this.sums[2 * lane + 1]
      );
    });
  }

  /** The lanes as a record carries them. */
  digest(): Digest {
    const bytes = (lane: number): Uint8Array => {
      const raw = new Uint8Array(8);
      const view = new DataView(raw.buffer);
      view.setInt32(0, this.sums[2 * lane]!, true);
      view.setInt32(4, this.sums[2 * lane + 1]!, true);
      return raw;
    };
    return { blocks: bytes(0), tables: bytes(1), requests: bytes(2) };
  }

  /** The lanes as two unsigned words each, to be read by a person or a test. */
  words(): Record<LaneName, [number, number]> {
    const pair = (lane: number): [number, number] => [
      this.sums[2 * lane]! >>> 0,
      this.sums[2 * lane + 1]! >>> 0,
    ];
    return { blocks: pair(0), tables: pair(1), requests: pair(2) };
  }
}

function word(raw: Uint8Array, at: number): number {
  return raw[at]! | (raw[at + 1]! << 8) | (raw[at + 2]! << 16) | (raw[at + 3]! << 24);
}
