/**
 * Operations as arrays: the sparse columns of a record, checked once. The twin of `kvarium_ledger.columns`.
 *
 * A column holds one value for each operation that carries it, in the order of the operations, so a reader walks all
 * of them with a cursor each. A msgpack bin may begin at any offset; a typed array may not, so bytes are copied
 * where they do not happen to be aligned: those of a record's operations into one piece of memory, as making many small ones
 * takes longer than filling them.
 */

import { FrameError, UnknownOperationError } from './frame';
import { CARRIED_BY, NONE, Operation, VERSION } from './generated/constants';
import type { Operations } from './generated/types';

const EMPTY = new Uint8Array(0);

function checkWhole(raw: Uint8Array, size: number, name: string): void {
  if (raw.length % size !== 0) {
    throw new FrameError(`column '${name}' has ${raw.length} bytes, not a multiple of ${size}`);
  }
}

function aligned(raw: Uint8Array, size: number, name: string): Uint8Array {
  checkWhole(raw, size, name);
  return raw.byteOffset % size === 0 ? raw : new Uint8Array(raw);
}

/** A column of u32. Throws a {@link FrameError} when the bytes are no whole values. */
export function u32(raw: Uint8Array | undefined, name = 'u32'): Uint32Array {
  const bytes = aligned(raw ?? EMPTY, 4, name);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
}

/** A column of u16. Throws a {@link FrameError} when the bytes are no whole values. */
export function u16(raw: Uint8Array | undefined, name = 'u16'): Uint16Array {
  const bytes = aligned(raw ?? EMPTY, 2, name);
  return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 1);
}

/** A column of i32. Throws a {@link FrameError} when the bytes are no whole values. */
export function i32(raw: Uint8Array | undefined, name = 'i32'): Int32Array {
  const bytes = aligned(raw ?? EMPTY, 4, name);
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
}

/** A column of f32. Throws a {@link FrameError} when the bytes are no whole values. */
export function f32(raw: Uint8Array | undefined, name = 'f32'): Float32Array {
  const bytes = aligned(raw ?? EMPTY, 4, name);
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
}

/** A column of f64. Throws a {@link FrameError} when the bytes are no whole values. */
export function f64(raw: Uint8Array | undefined, name = 'f64'): Float64Array {
  const bytes = aligned(raw ?? EMPTY, 8, name);
  return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 3);
}

/** For each column, which codes of operations carry it: a table of 256, 1 or 0. */
function carried(column: keyof typeof CARRIED_BY): Uint8Array {
  const mask = new Uint8Array(256);
  for (const kind of CARRIED_BY[column]) mask[kind] = 1;
  return mask;
}

/** Does an operation set or clear a holder? Indexed by its code. */
export const HOLDS = carried('position');
const KNOWN = carried('kind');
const SPARSE = ['ticket', 'filled_before', 'filled_after', 'source', 'content', 'hits'] as const;
const WIDE = ['block', 'sequence', 'position', ...SPARSE] as const;
const MASKS = SPARSE.map((name) => [name, carried(name)] as const);

/** The columns of a record's operations, sparse as they are stored. */
export interface OperationColumns {
  readonly length: number;
  readonly kind: Uint8Array;
  readonly block: Uint32Array;
  readonly cause: Uint8Array;
  readonly sequence: Uint32Array;
  readonly position: Uint32Array;
  /** Absent (length 0) when every group is 0. */
  readonly group: Uint8Array;
  readonly pin: Uint8Array;
  readonly ticket: Float64Array;
  readonly filled_before: Uint32Array;
  readonly filled_after: Uint32Array;
  readonly source: Uint32Array;
  readonly content: Uint32Array;
  readonly hits: Uint32Array;
}

/**
 * Memory for the columns of a record's operations that are not aligned. Whoever goes from record to record keeps one: the
 * columns of a record hold until the next one is decoded into it.
 */
export class Room {
  private buffer = new ArrayBuffer(0);
  private used = 0;

  /** Make room for all columns of these operations, in place of what was in it. */
  begin(operations: Operations | undefined): void {
    this.used = 0;
    // A word more, as the column of f64 may have to begin half a word later.
    let size = 4;
    for (const name of WIDE) size += operations?.[name]?.length ?? 0;
    if (size > this.buffer.byteLength) this.buffer = new ArrayBuffer(2 * size);
  }

  u32(raw: Uint8Array | undefined, name: string): Uint32Array {
    const bytes = raw ?? EMPTY;
    checkWhole(bytes, 4, name);
    if (bytes.byteOffset % 4 === 0)
      return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
    return new Uint32Array(this.buffer, this.copy(bytes, 4), bytes.length >>> 2);
  }

  f64(raw: Uint8Array | undefined, name: string): Float64Array {
    const bytes = raw ?? EMPTY;
    checkWhole(bytes, 8, name);
    if (bytes.byteOffset % 8 === 0)
      return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 3);
    return new Float64Array(this.buffer, this.copy(bytes, 8), bytes.length >>> 3);
  }

  /** Copy bytes; returns how many bytes of the buffer lie before them. */
  private copy(raw: Uint8Array, size: number): number {
    const at = Math.ceil(this.used / size) * size;
    new Uint8Array(this.buffer).set(raw, at);
    this.used = at + raw.length;
    return at;
  }
}

function expect(name: string, found: number, carried: number): void {
  if (found !== carried) {
    throw new FrameError(`column '${name}' has ${found} values, its operations carry ${carried}`);
  }
}

const tally = new Uint32Array(256);

/**
 * Check the lengths of all columns against `kind`.
 *
 * Throws a {@link FrameError} where a column has too few or too many values and an {@link UnknownOperationError} for
 * an operation that this version does not know.
 */
export function decodeOperations(operations: Operations | undefined, room = new Room()): OperationColumns {
  const kind = operations?.kind ?? EMPTY;
  const length = kind.length;
  tally.fill(0);
  for (let i = 0; i < length; i++) tally[kind[i]!]!++;
  for (let code = 0; code < 256; code++) {
    if (tally[code] !== 0 && KNOWN[code] === 0) {
      throw new UnknownOperationError(
        `operation ${code} is not known to version ${VERSION} of the ledger: this session needs a newer kvarium`,
      );
    }
  }
  const carriers = (mask: Uint8Array): number => {
    let sum = 0;
    for (let code = 1; code <= Operation.free; code++) if (mask[code] !== 0) sum += tally[code]!;
    return sum;
  };
  room.begin(operations);
  const columns: OperationColumns = {
    length,
    kind,
    block: room.u32(operations?.block, 'block'),
    cause: operations?.cause ?? EMPTY,
    sequence: room.u32(operations?.sequence, 'sequence'),
    position: room.u32(operations?.position, 'position'),
    group: operations?.group ?? EMPTY,
    pin: operations?.pin ?? EMPTY,
    ticket: room.f64(operations?.ticket, 'ticket'),
    filled_before: room.u32(operations?.filled_before, 'filled_before'),
    filled_after: room.u32(operations?.filled_after, 'filled_after'),
    source: room.u32(operations?.source, 'source'),
    content: room.u32(operations?.content, 'content'),
    hits: room.u32(operations?.hits, 'hits'),
  };
  expect('block', columns.block.length, length);
  expect('cause', columns.cause.length, length);
  expect('sequence', columns.sequence.length, length);
  const holders = carriers(HOLDS);
  expect('position', columns.position.length, holders);
  if (columns.group.length > 0) expect('group', columns.group.length, holders);
  for (const [name, mask] of MASKS) expect(name, columns[name].length, carriers(mask));
  let pins = 0;
  for (let i = 0; i < holders; i++) if (columns.position[i] === NONE) pins++;
  if (columns.pin.length !== pins) {
    throw new FrameError(`column 'pin' has ${columns.pin.length} values, ${pins} holders are pins`);
  }
  return columns;
}

/** The highest block that any operation names, or -1. */
export function highestBlock(columns: OperationColumns): number {
  let highest = -1;
  for (let i = 0; i < columns.length; i++) if (columns.block[i]! > highest) highest = columns.block[i]!;
  for (let i = 0; i < columns.source.length; i++) {
    if (columns.source[i]! > highest) highest = columns.source[i]!;
  }
  return highest;
}
