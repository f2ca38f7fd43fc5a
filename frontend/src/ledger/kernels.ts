/**
 * The columns of a pool's blocks, and for a large pool loops over all of them that take four blocks at once (blocks.wat).
 *
 * A million blocks' digest values take 24 ms in JavaScript and 2.4 ms there. Of a small pool that is nothing, and a memory of
 * WebAssembly reserves gigabytes of addresses: it has plain arrays, as has a page whose browser forbids WebAssembly.
 */

import { compiled, PAGE } from '../wasm';
import code from './blocks.wat';
import { MULTIPLIERS, SALTS } from './generated/constants';

/** Pools of fewer blocks have plain arrays. */
export const LARGE = 65_536;

/** Bytes at the memory's beginning: the lanes' multipliers and salts, and behind them what was found. */
const HEAD = 128;
const FOUND = 16;

/** One value a block. */
export interface Columns {
  readonly generation: Uint32Array;
  readonly count: Uint32Array;
  readonly ticket: Float64Array;
  readonly content: Uint32Array;
  readonly filled: Uint32Array;
  readonly kind: Uint8Array;
  readonly rowA: Int32Array;
  readonly rowB: Int32Array;
  /** To put something in for a while: words for the map, tickets as they are told. */
  readonly scratch: Uint32Array;
}

interface Exports {
  rows(n: number, ...columns: number[]): void;
  tickets(n: number, told: number, ticket: number): void;
  words(n: number, ...columnsAndBlockSize: number[]): void;
}

/** The loops over the blocks of one pool. */
export class Kernels {
  /** The first of the last few blocks, which no loop here comes to: it takes four at once. */
  readonly rest: number;
  /** What {@link rows} found: the sums of both lanes, the blocks that are cached, active, shared. */
  readonly found: Int32Array;

  private constructor(
    readonly columns: Columns,
    private readonly exports: Exports,
    head: Uint32Array,
  ) {
    this.rest = columns.count.length & ~3;
    this.found = new Int32Array(head.buffer, 4 * FOUND, 5);
    head.set(MULTIPLIERS.flatMap((multipliers, lane) => [...multipliers, SALTS.blocks[lane]!]));
  }

  /** Columns in a memory of their own; null: plain ones will do. */
  static of(size: number): Kernels | null {
    const module = size < LARGE ? null : compiled(code);
    if (module === null) return null;
    let end = HEAD;
    const place = (bytes: number): number => {
      const at = end;
      end += Math.ceil((size * bytes) / 16) * 16;
      return at;
    };
    const at = {
      ticket: place(8),
      generation: place(4),
      count: place(4),
      content: place(4),
      filled: place(4),
      rowA: place(4),
      rowB: place(4),
      scratch: place(4),
      kind: place(1),
    };
    const pages = Math.ceil(end / PAGE);
    try {
      const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
      const instance = new WebAssembly.Instance(module, { blocks: { memory } });
      const words = (from: number): Uint32Array => new Uint32Array(memory.buffer, from, size);
      const columns: Columns = {
        ticket: new Float64Array(memory.buffer, at.ticket, size),
        generation: words(at.generation),
        count: words(at.count),
        content: words(at.content),
        filled: words(at.filled),
        rowA: new Int32Array(memory.buffer, at.rowA, size),
        rowB: new Int32Array(memory.buffer, at.rowB, size),
        scratch: words(at.scratch),
        kind: new Uint8Array(memory.buffer, at.kind, size),
      };
      return new Kernels(
        columns,
        instance.exports as unknown as Exports,
        new Uint32Array(memory.buffer, 0, 32),
      );
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
  }

  /** Digest values and classes of all blocks but the {@link rest}, and what is {@link found} in all. */
  rows(): void {
    const { generation, count, ticket, content, filled, rowA, rowB, kind } = this.columns;
    const columns = [generation, count, ticket, content, filled, rowA, rowB, kind];
    this.exports.rows(this.rest, ...columns.map((column) => column.byteOffset));
  }

  /** Tickets that are told as i32: those of all blocks but the {@link rest}. */
  tickets(told: Int32Array): void {
    const { scratch, ticket } = this.columns;
    new Int32Array(scratch.buffer, scratch.byteOffset, scratch.length).set(told);
    this.exports.tickets(this.rest, scratch.byteOffset, ticket.byteOffset);
  }

  /** The words that the map needs, of all blocks but the {@link rest}: to be read at once. */
  words(blockSize: number): Uint32Array {
    const { kind, count, filled, content, scratch } = this.columns;
    const columns = [kind, count, filled, content, scratch];
    this.exports.words(this.rest, ...columns.map((column) => column.byteOffset), blockSize);
    return scratch.subarray(0, this.rest);
  }
}
