/**
 * The nine operations, forwards and backwards: the twin of `kvarium_ledger.block_fold`.
 *
 * Each operation is checked against what it finds. One that does not find what it must is told to `fail`; its effect
 * is taken all the same, so that the picture goes on, in red. Loops over plain numbers and typed arrays: this is the
 * page's hot path.
 */

import type { Blocks } from './blocks';
import type { OperationColumns } from './columns';
import type { Contents } from './contents';
import { Faults, shown } from './faults';
import { CARRIED_BY, Cause, NONE, Operation } from './generated/constants';
import { MAX_POSITION, type Pins, type Tables } from './tables';

/** What operations change. */
export interface Mirror {
  readonly blocks: Blocks;
  readonly tables: Tables;
  readonly pins: Pins;
  readonly contents: Contents;
  readonly blockSize: number;
}

/** Told the index of an operation in its record and what is wrong with it. */
export type Fail = (index: number, message: string) => void;

const PREFIX_HIT = Cause.prefix_hit;

/** Which operations enter a holder (1) or take one away (-1), by their code; a copy moves one. */
const HOLDER_CHANGE = new Int8Array(256);
for (const code of [Operation.allocate, Operation.reuse, Operation.share]) HOLDER_CHANGE[code] = 1;
for (const code of [Operation.release, Operation.free]) HOLDER_CHANGE[code] = -1;

class Cursors {
  holder = 0;
  pin = 0;
  ticket = 0;
  before = 0;
  after = 0;
  source = 0;
  content = 0;
  hits = 0;

  /** Cursors at the values of operation `index`: those of all operations before it lie behind. */
  static at(columns: OperationColumns, index: number): Cursors {
    const at = new Cursors();
    if (index === 0) return at;
    if (index === columns.length) return at.toEnd(columns);
    const tally = new Uint32Array(256);
    for (let i = 0; i < index; i++) tally[columns.kind[i]!]!++;
    const carried = (column: keyof typeof CARRIED_BY): number =>
      CARRIED_BY[column].reduce((sum, kind) => sum + tally[kind]!, 0);
    at.holder = carried('position');
    at.ticket = carried('ticket');
    at.before = carried('filled_before');
    at.after = carried('filled_after');
    at.source = carried('source');
    at.content = carried('content');
    at.hits = carried('hits');
    if (columns.pin.length > 0)
      for (let i = 0; i < at.holder; i++) if (columns.position[i] === NONE) at.pin++;
    return at;
  }

  private toEnd(columns: OperationColumns): this {
    this.holder = columns.position.length;
    this.pin = columns.pin.length;
    this.ticket = columns.ticket.length;
    this.before = columns.filled_before.length;
    this.after = columns.filled_after.length;
    this.source = columns.source.length;
    this.content = columns.content.length;
    this.hits = columns.hits.length;
    return this;
  }
}

class Holders {
  constructor(
    private readonly mirror: Mirror,
    private readonly fail: Fail,
  ) {}

  hold(i: number, block: number, sequence: number, group: number, position: number): void {
    const { tables, blocks } = this.mirror;
    if (position >= MAX_POSITION) {
      this.fail(i, `entry ${position} of sequence ${sequence} is beyond any table`);
      return;
    }
    const found = tables.enter(sequence, group, position, block);
    if (found !== NONE) {
      this.fail(i, `entry ${position} of sequence ${sequence} already holds block ${found}`);
      blocks.entries[found]!--;
    }
    blocks.entries[block]!++;
  }

  letGo(i: number, block: number, sequence: number, group: number, position: number): void {
    const { tables, blocks } = this.mirror;
    if (position >= MAX_POSITION) {
      this.fail(i, `entry ${position} of sequence ${sequence} is beyond any table`);
      return;
    }
    const found = tables.leave(sequence, group, position, block);
    if (found !== block) {
      this.fail(
        i,
        `entry ${position} of sequence ${sequence} holds block ${shown(found)}, not block ${block}`,
      );
    }
    if (found !== NONE) blocks.entries[found]!--;
  }

  move(i: number, from: number, to: number, sequence: number, group: number, position: number): void {
    const { tables, blocks } = this.mirror;
    if (position >= MAX_POSITION) {
      this.fail(i, `entry ${shown(position)} of sequence ${sequence} can't be copied`);
      return;
    }
    const found = tables.move(sequence, group, position, from, to);
    if (found !== from) {
      this.fail(
        i,
        `entry ${position} of sequence ${sequence} holds block ${shown(found)}, not block ${from}`,
      );
    }
    if (found !== NONE) blocks.entries[found]!--;
    blocks.entries[to]!++;
  }

  pin(block: number, pin: number): void {
    this.mirror.pins.add(block, pin);
  }

  unpin(i: number, block: number, pin: number): void {
    if (!this.mirror.pins.remove(block, pin)) this.fail(i, `block ${block} is not held by pin ${pin}`);
  }
}

/**
 * Apply the operations of a record from `from` (included) to `to` (excluded), in order. Blocks must be in range
 * ({@link highestBlock} tells).
 */
export function applyOperations(
  mirror: Mirror,
  columns: OperationColumns,
  fail: Fail,
  from = 0,
  to = columns.length,
): void {
  const { blocks, contents, blockSize } = mirror;
  const { generation, count, ticket, content, filled, hits } = blocks;
  const { kind, cause, position, group, pin } = columns;
  const holders = new Holders(mirror, fail);
  const faults = new Faults(mirror, fail);
  const groups = group.length > 0;
  // A local variable each: a machine keeps them in its registers.
  const start = Cursors.at(columns, from);
  let atHolder = start.holder;
  let atPin = start.pin;
  let atTicket = start.ticket;
  let atBefore = start.before;
  let atAfter = start.after;
  let atSource = start.source;
  let atContent = start.content;
  let atHits = start.hits;

  for (let i = from; i < to; i++) {
    const b = columns.block[i]!;
    const operation = kind[i]!;
    blocks.touch(b);
    switch (operation) {
      case Operation.allocate: {
        const told = columns.ticket[atTicket++]!;
        const before = columns.filled_before[atBefore++]!;
        if (count[b] !== 0 || ticket[b] !== told) faults.queue(i, b, told);
        if (content[b] !== NONE || filled[b] !== before) faults.life(i, b, before);
        ticket[b] = Number.NaN;
        count[b] = 1;
        generation[b]!++;
        filled[b] = 0;
        break;
      }
      case Operation.evict: {
        const told = columns.content[atContent++]!;
        const hit = columns.hits[atHits++]!;
        if (content[b] !== told || told === NONE || hits[b] !== hit) faults.evict(i, b, told, hit);
        content[b] = NONE;
        hits[b] = 0;
        break;
      }
      case Operation.reuse: {
        const told = columns.ticket[atTicket++]!;
        if (count[b] !== 0 || ticket[b] !== told) faults.queue(i, b, told);
        if (content[b] === NONE) fail(i, `block ${b} is hit but holds no content`);
        ticket[b] = Number.NaN;
        count[b] = 1;
        hits[b]!++;
        break;
      }
      case Operation.share:
        if (count[b]! < 1) fail(i, `block ${b} is shared but nobody holds it`);
        count[b]!++;
        if (cause[i] === PREFIX_HIT) hits[b]!++;
        break;
      case Operation.copy: {
        const source = columns.source[atSource++]!;
        const after = columns.filled_after[atAfter++]!;
        const told = columns.ticket[atTicket++]!;
        const before = columns.filled_before[atBefore++]!;
        const place = position[atHolder]!;
        const g = groups ? group[atHolder]! : 0;
        atHolder++;
        blocks.touch(source);
        const written = filled[source]!;
        if (
          count[source]! < 2 ||
          content[source] !== NONE ||
          written === 0 ||
          written >= blockSize ||
          written !== after
        )
          faults.source(i, source, after);
        if (count[b] !== 0 || ticket[b] !== told) faults.queue(i, b, told);
        if (content[b] !== NONE || filled[b] !== before) faults.life(i, b, before);
        ticket[b] = Number.NaN;
        count[b] = 1;
        generation[b]!++;
        if (count[source]! > 0) count[source]!--;
        filled[b] = after;
        holders.move(i, source, b, columns.sequence[i]!, g, place);
        break;
      }
      case Operation.fill: {
        const before = columns.filled_before[atBefore++]!;
        const after = columns.filled_after[atAfter++]!;
        if (
          count[b] !== 1 ||
          content[b] !== NONE ||
          filled[b] !== before ||
          before >= after ||
          after > blockSize
        )
          faults.fill(i, b, before, after);
        filled[b] = after;
        break;
      }
      case Operation.cache: {
        const id = columns.content[atContent++]!;
        if (filled[b] !== blockSize || content[b] !== NONE || id >= contents.next) faults.cache(i, b, id);
        content[b] = id;
        break;
      }
      case Operation.release:
        if (count[b]! < 2) fail(i, `block ${b} is released with count ${count[b]}, not more than 1`);
        if (count[b]! > 0) count[b]!--;
        break;
      case Operation.free:
        if (count[b] !== 1) fail(i, `block ${b} is freed with count ${count[b]}, not 1`);
        count[b] = 0;
        ticket[b] = columns.ticket[atTicket++]!;
        break;
    }
    // Who holds it. A copy moved its entry already.
    const change = HOLDER_CHANGE[operation]!;
    if (change === 0) continue;
    const place = position[atHolder]!;
    const sequence = columns.sequence[i]!;
    const g = groups ? group[atHolder]! : 0;
    atHolder++;
    if (place !== NONE) {
      if (change > 0) holders.hold(i, b, sequence, g, place);
      else holders.letGo(i, b, sequence, g, place);
    } else if (change > 0) holders.pin(b, pin[atPin++]!);
    else holders.unpin(i, b, pin[atPin++]!);
  }
}

/** Take back the operations of a record before `from` down to `to`, which is taken back too. */
export function undoOperations(
  mirror: Mirror,
  columns: OperationColumns,
  fail: Fail,
  from = columns.length,
  to = 0,
): void {
  const { blocks, tables, pins } = mirror;
  const { generation, count, ticket, content, filled, hits, entries } = blocks;
  const { kind, cause, position, group, pin } = columns;
  const holders = new Holders(mirror, fail);
  const at = Cursors.at(columns, from);
  const groups = group.length > 0;

  const endLife = (b: number): void => {
    count[b] = 0;
    generation[b]!--;
    ticket[b] = columns.ticket[--at.ticket]!;
    filled[b] = columns.filled_before[--at.before]!;
  };
  const hold = (i: number, b: number, sequence: number): void => {
    const place = position[--at.holder]!;
    if (place === NONE) pins.add(b, pin[--at.pin]!);
    else holders.hold(i, b, sequence, groups ? group[at.holder]! : 0, place);
  };
  const letGo = (i: number, b: number, sequence: number): void => {
    const place = position[--at.holder]!;
    if (place === NONE) holders.unpin(i, b, pin[--at.pin]!);
    else holders.letGo(i, b, sequence, groups ? group[at.holder]! : 0, place);
  };

  for (let i = from - 1; i >= to; i--) {
    const b = columns.block[i]!;
    const sequence = columns.sequence[i]!;
    blocks.touch(b);
    switch (kind[i]) {
      case Operation.allocate:
        letGo(i, b, sequence);
        endLife(b);
        break;
      case Operation.evict:
        content[b] = columns.content[--at.content]!;
        hits[b] = columns.hits[--at.hits]!;
        break;
      case Operation.reuse:
        letGo(i, b, sequence);
        count[b] = 0;
        hits[b]!--;
        ticket[b] = columns.ticket[--at.ticket]!;
        break;
      case Operation.share:
        letGo(i, b, sequence);
        count[b]!--;
        if (cause[i] === PREFIX_HIT) hits[b]!--;
        break;
      case Operation.copy: {
        const source = columns.source[--at.source]!;
        at.after--;
        const place = position[--at.holder]!;
        blocks.touch(source);
        if (place < MAX_POSITION) {
          const found = tables.move(sequence, groups ? group[at.holder]! : 0, place, b, source);
          if (found !== NONE) entries[found]!--;
          entries[source]!++;
        }
        count[source]!++;
        endLife(b);
        break;
      }
      case Operation.fill:
        at.after--;
        filled[b] = columns.filled_before[--at.before]!;
        break;
      case Operation.cache:
        at.content--;
        content[b] = NONE;
        break;
      case Operation.release:
        count[b]!++;
        hold(i, b, sequence);
        break;
      case Operation.free:
        at.ticket--;
        count[b] = 1;
        ticket[b] = Number.NaN;
        hold(i, b, sequence);
        break;
    }
  }
}
