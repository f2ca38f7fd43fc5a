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

/** Shows `NONE` as a person would say it. */
function shown(value: number): string {
  return value === NONE ? 'nothing' : String(value);
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
  const { blocks, tables, pins, contents, blockSize } = mirror;
  const { generation, count, ticket, content, filled, hits, entries } = blocks;
  const { kind, cause, position, group, pin } = columns;
  const holders = new Holders(mirror, fail);
  const at = Cursors.at(columns, from);
  const groups = group.length > 0;

  const takeFromQueue = (i: number, b: number): void => {
    const told = columns.ticket[at.ticket++]!;
    if (count[b] !== 0) fail(i, `block ${b} has count ${count[b]}, not 0`);
    if (ticket[b] !== told) fail(i, `block ${b} has ticket ${ticket[b]}, not ${told}`);
    ticket[b] = Number.NaN;
  };
  const beginLife = (i: number, b: number): void => {
    takeFromQueue(i, b);
    const before = columns.filled_before[at.before++]!;
    if (content[b] !== NONE) fail(i, `block ${b} still holds content ${content[b]}`);
    if (filled[b] !== before) fail(i, `block ${b} was filled to ${filled[b]}, not ${before}`);
    count[b] = 1;
    generation[b]!++;
  };
  const hold = (i: number, b: number, sequence: number): void => {
    const place = position[at.holder]!;
    if (place === NONE) pins.add(b, pin[at.pin++]!);
    else holders.hold(i, b, sequence, groups ? group[at.holder]! : 0, place);
    at.holder++;
  };
  const letGo = (i: number, b: number, sequence: number): void => {
    const place = position[at.holder]!;
    if (place === NONE) holders.unpin(i, b, pin[at.pin++]!);
    else holders.letGo(i, b, sequence, groups ? group[at.holder]! : 0, place);
    at.holder++;
  };

  for (let i = from; i < to; i++) {
    const b = columns.block[i]!;
    const sequence = columns.sequence[i]!;
    blocks.touch(b);
    switch (kind[i]) {
      case Operation.allocate:
        beginLife(i, b);
        filled[b] = 0;
        hold(i, b, sequence);
        break;
      case Operation.evict: {
        const told = columns.content[at.content++]!;
        const hit = columns.hits[at.hits++]!;
        if (content[b] !== told || told === NONE) {
          fail(i, `block ${b} holds content ${shown(content[b]!)}, not ${shown(told)}`);
        }
        if (hits[b] !== hit) fail(i, `block ${b} had ${hits[b]} hits, not ${hit}`);
        content[b] = NONE;
        hits[b] = 0;
        break;
      }
      case Operation.reuse:
        takeFromQueue(i, b);
        if (content[b] === NONE) fail(i, `block ${b} is hit but holds no content`);
        count[b] = 1;
        hits[b]!++;
        hold(i, b, sequence);
        break;
      case Operation.share:
        if (count[b]! < 1) fail(i, `block ${b} is shared but nobody holds it`);
        count[b]!++;
        if (cause[i] === PREFIX_HIT) hits[b]!++;
        hold(i, b, sequence);
        break;
      case Operation.copy: {
        const source = columns.source[at.source++]!;
        const after = columns.filled_after[at.after++]!;
        const place = position[at.holder]!;
        const g = groups ? group[at.holder]! : 0;
        at.holder++;
        blocks.touch(source);
        if (count[source]! < 2) fail(i, `the source ${source} has count ${count[source]}, not more than 1`);
        if (content[source] !== NONE || filled[source] === 0 || filled[source]! >= blockSize) {
          fail(i, `the source ${source} is not partly filled, or holds content`);
        }
        if (filled[source] !== after)
          fail(i, `the source ${source} is filled to ${filled[source]}, not ${after}`);
        beginLife(i, b);
        if (count[source]! > 0) count[source]!--;
        filled[b] = after;
        if (place >= MAX_POSITION) {
          fail(i, `entry ${shown(place)} of sequence ${sequence} can't be copied`);
          break;
        }
        const found = tables.move(sequence, g, place, source, b);
        if (found !== source) {
          fail(i, `entry ${place} of sequence ${sequence} holds block ${shown(found)}, not block ${source}`);
        }
        if (found !== NONE) entries[found]!--;
        entries[b]!++;
        break;
      }
      case Operation.fill: {
        const before = columns.filled_before[at.before++]!;
        const after = columns.filled_after[at.after++]!;
        if (count[b] !== 1) fail(i, `block ${b} is written with count ${count[b]}, not 1`);
        if (content[b] !== NONE) fail(i, `block ${b} is written but holds content ${content[b]}`);
        if (filled[b] !== before || before >= after || after > blockSize) {
          fail(
            i,
            `block ${b} is filled to ${filled[b]} of ${blockSize}; the fill goes from ${before} to ${after}`,
          );
        }
        filled[b] = after;
        break;
      }
      case Operation.cache: {
        const id = columns.content[at.content++]!;
        if (filled[b] !== blockSize) fail(i, `block ${b} is labelled but filled to ${filled[b]} only`);
        if (content[b] !== NONE) fail(i, `block ${b} is labelled twice: it holds ${content[b]}`);
        if (id >= contents.next) fail(i, `content ${id} was never interned`);
        content[b] = id;
        break;
      }
      case Operation.release:
        if (count[b]! < 2) fail(i, `block ${b} is released with count ${count[b]}, not more than 1`);
        if (count[b]! > 0) count[b]!--;
        letGo(i, b, sequence);
        break;
      case Operation.free:
        if (count[b] !== 1) fail(i, `block ${b} is freed with count ${count[b]}, not 1`);
        count[b] = 0;
        ticket[b] = columns.ticket[at.ticket++]!;
        letGo(i, b, sequence);
        break;
    }
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
