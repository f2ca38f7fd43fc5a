/**
 * Block tables and pins: who holds the counts of the blocks.
 *
 * A table belongs to one sequence and one KV-cache group and maps positions to blocks. Positions are dense but for
 * holes at the front (a sliding window), so a table is a growing array with `NONE` in the holes. A table without
 * entries is not there.
 */

import { u32 } from './columns';
import { tableBaseA, tableBaseB, tableRowA, tableRowB } from './digest';
import { FrameError } from './frame';
import { NONE } from './generated/constants';
import type { PinColumns, TableColumns } from './generated/types';

/** A table of more entries than this is a fault, not a table (2^24 entries of 16 tokens are 268 million tokens). */
export const MAX_POSITION = 1 << 24;

/** A table has room for this many entries at least. */
const FEWEST = 8;
/** Of tables that ended, as many arrays of at most so many entries are kept for those that begin. */
const SPARE = 256;
const SPARE_ENTRIES = 8192;

export class Table {
  /** Entries up to `end`; `NONE` where there is none. */
  blocks: Uint32Array;
  end = 0;
  size = 0;
  readonly baseA: number;
  readonly baseB: number;

  /** `room`: the array of a table that holds nothing any more, all `NONE`. */
  constructor(
    readonly sequence: number,
    readonly group: number,
    room?: Uint32Array,
  ) {
    this.blocks = room ?? new Uint32Array(FEWEST).fill(NONE);
    this.baseA = tableBaseA(sequence, group);
    this.baseB = tableBaseB(sequence, group);
  }

  set(position: number, block: number): void {
    if (position >= this.blocks.length) {
      const grown = new Uint32Array(Math.max(position + 1, 2 * this.blocks.length));
      grown.set(this.blocks);
      this.blocks = grown.fill(NONE, this.blocks.length);
    }
    this.blocks[position] = block;
    if (position >= this.end) this.end = position + 1;
  }

  get(position: number): number {
    return position < this.end ? this.blocks[position]! : NONE;
  }

  clear(position: number): void {
    this.blocks[position] = NONE;
    while (this.end > 0 && this.blocks[this.end - 1] === NONE) this.end--;
  }

  copy(): Table {
    const room = this.blocks.slice(0, Math.max(FEWEST, this.end));
    const table = new Table(this.sequence, this.group, room);
    table.end = this.end;
    table.size = this.size;
    return table;
  }
}

/** The key of a table: sequences are u32, so a group stands above them. */
export function tableKey(sequence: number, group: number): number {
  return sequence + group * 0x100000000;
}

export class Tables {
  readonly map = new Map<number, Table>();
  /** Sum of all entries' rows, in both lanes. */
  sumA = 0;
  sumB = 0;
  /** Operations come in runs of one sequence: remember the last table. */
  private last: Table | null = null;
  private readonly spare: Uint32Array[] = [];

  get(sequence: number, group: number): Table | undefined {
    return this.map.get(tableKey(sequence, group));
  }

  private find(sequence: number, group: number): Table {
    const { last } = this;
    if (last !== null && last.sequence === sequence && last.group === group) return last;
    const key = tableKey(sequence, group);
    let table = this.map.get(key);
    if (table === undefined) {
      table = new Table(sequence, group, this.spare.pop());
      this.map.set(key, table);
    }
    this.last = table;
    return table;
  }

  /** Enter a block; returns what stood there before (`NONE`: nothing, as it should be). */
  enter(sequence: number, group: number, position: number, block: number): number {
    const table = this.find(sequence, group);
    const before = table.get(position);
    table.set(position, block);
    if (before === NONE) table.size++;
    this.sumA = (this.sumA + tableRowA(table.baseA, position, block)) | 0;
    this.sumB = (this.sumB + tableRowB(table.baseB, position, block)) | 0;
    return before;
  }

  /** Take a block's entry away; returns what stood there (`block`, as it should be). */
  leave(sequence: number, group: number, position: number, block: number): number {
    const table = this.find(sequence, group);
    const before = table.get(position);
    if (before !== NONE) {
      table.clear(position);
      table.size--;
    }
    if (table.size === 0) {
      this.map.delete(tableKey(sequence, group));
      this.last = null;
      if (this.spare.length < SPARE && table.blocks.length <= SPARE_ENTRIES) this.spare.push(table.blocks);
    }
    this.sumA = (this.sumA - tableRowA(table.baseA, position, block)) | 0;
    this.sumB = (this.sumB - tableRowB(table.baseB, position, block)) | 0;
    return before;
  }

  /** Move an entry from one block to another; returns what stood there (`from`, as it should be). */
  move(sequence: number, group: number, position: number, from: number, to: number): number {
    const table = this.find(sequence, group);
    const before = table.get(position);
    table.set(position, to);
    if (before === NONE) table.size++;
    const a = tableRowA(table.baseA, position, to) - tableRowA(table.baseA, position, from);
    const b = tableRowB(table.baseB, position, to) - tableRowB(table.baseB, position, from);
    this.sumA = (this.sumA + a) | 0;
    this.sumB = (this.sumB + b) | 0;
    return before;
  }

  clear(): void {
    this.map.clear();
    this.sumA = 0;
    this.sumB = 0;
    this.last = null;
  }

  copyFrom(other: Tables): void {
    this.clear();
    for (const [key, table] of other.map) this.map.set(key, table.copy());
    this.sumA = other.sumA;
    this.sumB = other.sumB;
  }

  /** Take a keyframe's tables in place of these, and count in `entries` how many point to each block. */
  load(columns: TableColumns | undefined, entries: Uint32Array, fail: (message: string) => void): void {
    this.clear();
    const sequence = u32(columns?.sequence, 'tables.sequence');
    const position = u32(columns?.position, 'tables.position');
    const block = u32(columns?.block, 'tables.block');
    const group = columns?.group;
    if (position.length !== sequence.length || block.length !== sequence.length) {
      throw new FrameError('the columns of a keyframe’s tables differ in length');
    }
    for (let i = 0; i < sequence.length; i++) {
      const b = block[i]!;
      if (b >= entries.length || position[i]! >= MAX_POSITION) {
        fail(`a table names block ${b} at ${position[i]}, the pool has ${entries.length}`);
        continue;
      }
      const found = this.enter(sequence[i]!, group?.[i] ?? 0, position[i]!, b);
      if (found === NONE) entries[b]!++;
    }
  }

  /** All (table, position) that point to a block. */
  holders(block: number): { sequence: number; group: number; position: number }[] {
    const found: { sequence: number; group: number; position: number }[] = [];
    for (const table of this.map.values()) {
      const position = table.blocks.subarray(0, table.end).indexOf(block);
      if (position >= 0) found.push({ sequence: table.sequence, group: table.group, position });
    }
    return found;
  }
}

/** Holders that are no sequences: for each block, how often each pin holds it. */
export class Pins {
  readonly map = new Map<number, Map<number, number>>();

  /** Take a keyframe's pins in place of these. */
  load(columns: PinColumns | undefined, numBlocks: number, fail: (message: string) => void): void {
    this.map.clear();
    u32(columns?.block, 'pins.block').forEach((b, i) => {
      if (b < numBlocks) this.add(b, columns?.pin?.[i] ?? 0);
      else fail(`a pin is on block ${b}, the pool has ${numBlocks}`);
    });
  }

  add(block: number, pin: number): void {
    let pins = this.map.get(block);
    if (pins === undefined) {
      pins = new Map();
      this.map.set(block, pins);
    }
    pins.set(pin, (pins.get(pin) ?? 0) + 1);
  }

  /** Returns false when this pin does not hold the block. */
  remove(block: number, pin: number): boolean {
    const pins = this.map.get(block);
    const count = pins?.get(pin) ?? 0;
    if (pins === undefined || count === 0) return false;
    if (count > 1) pins.set(pin, count - 1);
    else pins.delete(pin);
    if (pins.size === 0) this.map.delete(block);
    return true;
  }

  total(block: number): number {
    let sum = 0;
    for (const count of this.map.get(block)?.values() ?? []) sum += count;
    return sum;
  }

  copyFrom(other: Pins): void {
    this.map.clear();
    for (const [block, pins] of other.map) this.map.set(block, new Map(pins));
  }
}
