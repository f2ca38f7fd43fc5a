/**
 * The state of all blocks: plain columns, one value a block, and what is kept beside them so that nothing has to be
 * recomputed: each block's two digest values, its class and the number of table entries that point to it.
 *
 * A block that an operation changes is *touched* first: its digest values and its class leave the sums. When the record
 * is done, {@link Blocks.settle} computes them anew, once for each block however often it was changed.
 */

import { NOT_QUEUED, ticketColumn, WORDS, wordColumn } from './blockColumns';
import { blockRowA, blockRowB, blockRows } from './digest';
import { FrameError } from './frame';
import { NONE } from './generated/constants';
import type { BlockColumns } from './generated/types';
import { Kernels } from './kernels';

/** What a block is: count 0 without or with content, count 1, count above 1. */
export const BlockClass = { free: 0, cached: 1, active: 2, shared: 3 } as const;

const NAN_HIGH = 0x7ff80000;

// Loops over all blocks are functions of their own: a machine makes fast what is called again and again.

/** The class of each block, and how many are of each. */
function classify(count: Uint32Array, content: Uint32Array, kind: Uint8Array, tally: Int32Array): void {
  let cached = 0;
  let active = 0;
  let shared = 0;
  for (let b = 0; b < kind.length; b++) {
    const holders = count[b]!;
    if (holders === 0) {
      const holds = content[b] === NONE ? 0 : 1;
      kind[b] = holds;
      cached += holds;
    } else if (holders === 1) {
      kind[b] = 2;
      active++;
    } else {
      kind[b] = 3;
      shared++;
    }
  }
  tally.set([kind.length - cached - active - shared, cached, active, shared]);
}

/** Put words in the places of some blocks. */
function scatter(words: Uint32Array, blocks: Uint32Array, column: Uint32Array): void {
  for (let i = 0; i < blocks.length; i++) column[blocks[i]!] = words[i]!;
}

function scatterTickets(tickets: Float64Array, blocks: Uint32Array, column: Float64Array): void {
  for (let i = 0; i < blocks.length; i++) column[blocks[i]!] = tickets[i]!;
}

/** Tickets that are told as i32. */
function wideTickets(told: Int32Array): Float64Array {
  const tickets = new Float64Array(told);
  for (let i = 0; i < told.length; i++) if (told[i] === NOT_QUEUED) tickets[i] = Number.NaN;
  return tickets;
}

export class Blocks {
  readonly generation: Uint32Array;
  readonly count: Uint32Array;
  readonly ticket: Float64Array;
  readonly content: Uint32Array;
  readonly filled: Uint32Array;
  readonly hits: Uint32Array;
  /** Derived: class of each block, entries that point to it, its values in the two lanes. */
  readonly kind: Uint8Array;
  readonly entries: Uint32Array;
  readonly rowA: Int32Array;
  readonly rowB: Int32Array;
  /** The words of `ticket`: low at 2i, high at 2i + 1 (all browsers' machines are little-endian). */
  private readonly words: Uint32Array;
  /** Blocks of each class, indexed by it. */
  readonly tally = new Int32Array(4);
  /** The blocks that the record under way (or the last one) changed: the first `touchedCount` of `touched`. */
  readonly touched: Uint32Array;
  touchedCount = 0;
  private readonly stamp: Uint32Array;
  private mark = 0;
  /** Sum of all rows, in both lanes. */
  sumA = 0;
  sumB = 0;
  /** Loops over all blocks of a large pool; null: those here will do. */
  readonly kernels: Kernels | null;

  constructor(readonly size: number) {
    if (!Number.isSafeInteger(size) || size < 1)
      throw new FrameError(`a pool has at least one block, not ${size}`);
    this.kernels = Kernels.of(size);
    const columns = this.kernels?.columns;
    this.generation = columns?.generation ?? new Uint32Array(size);
    this.count = columns?.count ?? new Uint32Array(size);
    this.ticket = columns?.ticket ?? new Float64Array(size);
    this.words = new Uint32Array(this.ticket.buffer, this.ticket.byteOffset, 2 * size);
    this.content = columns?.content ?? new Uint32Array(size);
    this.filled = columns?.filled ?? new Uint32Array(size);
    this.hits = new Uint32Array(size);
    this.kind = columns?.kind ?? new Uint8Array(size);
    this.entries = new Uint32Array(size);
    this.rowA = columns?.rowA ?? new Int32Array(size);
    this.rowB = columns?.rowB ?? new Int32Array(size);
    this.touched = new Uint32Array(size);
    this.stamp = new Uint32Array(size);
    this.load({});
  }

  /** Take the columns of a keyframe; an absent one is its default for every block. Table entries are counted by the caller. */
  load(columns: BlockColumns): void {
    this.take(columns);
    this.entries.fill(0);
    this.recount();
  }

  /** Take columns, and lay those of the blocks that changed over them: a value for each of these, in their order. */
  loadOver(base: BlockColumns, changed: Uint32Array, columns: BlockColumns): void {
    this.take(base);
    // All of one width first: a loop that meets one kind of array only is a fast one.
    const words = new Uint32Array(changed.length);
    for (const [name, fallback] of WORDS) {
      const told = wordColumn(columns[name], changed.length, name);
      if (told === null) words.fill(fallback);
      else words.set(told);
      scatter(words, changed, this[name]);
    }
    const told = ticketColumn(columns.ticket, changed.length);
    const tickets = told instanceof Int32Array ? wideTickets(told) : (told ?? new Float64Array(changed));
    scatterTickets(tickets, changed, this.ticket);
    this.entries.fill(0);
    this.recount();
  }

  private take(columns: BlockColumns): void {
    for (const [name, fallback] of WORDS) {
      const column = wordColumn(columns[name], this.size, name);
      if (column === null) this[name].fill(fallback);
      else this[name].set(column);
    }
    const tickets = ticketColumn(columns.ticket, this.size);
    if (tickets === null) for (let b = 0; b < this.size; b++) this.ticket[b] = b;
    else if (tickets instanceof Int32Array) this.loadTickets(tickets);
    else this.ticket.set(tickets);
  }

  private loadTickets(told: Int32Array): void {
    const { kernels, ticket } = this;
    const rest = kernels?.rest ?? 0;
    kernels?.tickets(told);
    for (let b = rest; b < told.length; b++) ticket[b] = told[b] === NOT_QUEUED ? Number.NaN : told[b]!;
  }

  /** Compute all that is derived from the columns. */
  private recount(): void {
    const { kernels } = this;
    if (kernels === null) {
      classify(this.count, this.content, this.kind, this.tally);
      [this.sumA, this.sumB] = blockRows(this, this.rowA, this.rowB);
    } else {
      kernels.rows();
      const [sumA, sumB, cached, active, shared] = kernels.found;
      [this.sumA, this.sumB] = [sumA!, sumB!];
      this.tally.set([kernels.rest - cached! - active! - shared!, cached!, active!, shared!]);
      for (let b = kernels.rest; b < this.size; b++) this.enter(b);
    }
    this.begin();
  }

  /** Put a block's class and digest values into the sums. */
  private enter(b: number): void {
    const count = this.count[b]!;
    const content = this.content[b]!;
    const generation = this.generation[b]!;
    const filled = this.filled[b]!;
    const ticket = this.ticket[b]!;
    let low = 0;
    let high = NAN_HIGH;
    if (!Number.isNaN(ticket)) {
      low = this.words[2 * b]!;
      high = this.words[2 * b + 1]!;
    }
    const a = blockRowA(b, generation, count, low, high, content, filled);
    const z = blockRowB(b, generation, count, low, high, content, filled);
    this.rowA[b] = a;
    this.rowB[b] = z;
    this.sumA = (this.sumA + a) | 0;
    this.sumB = (this.sumB + z) | 0;
    const kind = count > 1 ? 3 : count === 1 ? 2 : content !== NONE ? 1 : 0;
    this.kind[b] = kind;
    this.tally[kind]!++;
  }

  /** Begin a record: nothing is touched. */
  begin(): void {
    this.touchedCount = 0;
    this.mark++;
    if (this.mark === 0xffffffff) {
      this.stamp.fill(0);
      this.mark = 1;
    }
  }

  /** Say that a block is about to change. */
  touch(b: number): void {
    if (this.stamp[b] === this.mark) return;
    this.stamp[b] = this.mark;
    this.touched[this.touchedCount++] = b;
    this.sumA = (this.sumA - this.rowA[b]!) | 0;
    this.sumB = (this.sumB - this.rowB[b]!) | 0;
    this.tally[this.kind[b]!]!--;
  }

  /** The record is done: what was touched enters the sums again. */
  settle(): void {
    for (let i = 0; i < this.touchedCount; i++) this.enter(this.touched[i]!);
  }

  /** Become a copy of another pool of the same size. */
  copyFrom(other: Blocks): void {
    for (const name of COPIED) this[name].set(other[name] as never);
    this.tally.set(other.tally);
    this.sumA = other.sumA;
    this.sumB = other.sumB;
    this.begin();
    this.touched.set(other.touched.subarray(0, other.touchedCount));
    this.touchedCount = other.touchedCount;
  }

  /** The six columns and all that is derived, to be put back by {@link restore}. */
  snapshot(): BlocksSnapshot {
    const columns = {} as Record<(typeof COPIED)[number], ArrayBufferView>;
    for (const name of COPIED) columns[name] = this[name].slice();
    return { columns, tally: this.tally.slice(), sumA: this.sumA, sumB: this.sumB };
  }

  restore(snapshot: BlocksSnapshot): void {
    for (const name of COPIED) this[name].set(snapshot.columns[name] as never);
    this.tally.set(snapshot.tally);
    this.sumA = snapshot.sumA;
    this.sumB = snapshot.sumB;
    this.begin();
  }

  /** Bytes of one {@link snapshot}. */
  get snapshotBytes(): number {
    return this.size * 41;
  }
}

const COPIED = [
  'generation',
  'count',
  'ticket',
  'content',
  'filled',
  'hits',
  'kind',
  'entries',
  'rowA',
  'rowB',
] as const;

export interface BlocksSnapshot {
  readonly columns: Record<(typeof COPIED)[number], ArrayBufferView>;
  readonly tally: Int32Array;
  readonly sumA: number;
  readonly sumB: number;
}
