/** What is true of every lawful state: over what a record touched, and over the whole of it at audits. */

import type { Blocks } from './blocks';
import { NONE, Pin } from './generated/constants';
import type { Mirror } from './operations';
import type { Requests } from './requests';

function some(blocks: number[]): string {
  const shown = blocks.slice(0, 5).join(', ');
  return `block${blocks.length > 1 ? 's' : ''} ${shown}${blocks.length > 5 ? ', …' : ''}`;
}

/** Collects the blocks that break each of the invariants that concern one block alone. */
class Broken {
  holders: number[] = [];
  queue: number[] = [];
  notFull: number[] = [];
  hits: number[] = [];
  overfull: number[] = [];

  constructor(private readonly mirror: Mirror) {}

  look(b: number): void {
    const { blocks, blockSize, pins } = this.mirror;
    const count = blocks.count[b]!;
    const ticket = blocks.ticket[b]!;
    const filled = blocks.filled[b]!;
    if (blocks.entries[b] !== count && holders(blocks, pins, b) !== count) this.holders.push(b);
    if (Number.isNaN(ticket) === (count === 0)) this.queue.push(b);
    if (blocks.content[b] === NONE) {
      if (blocks.hits[b] !== 0) this.hits.push(b);
    } else if (filled !== blockSize) this.notFull.push(b);
    if (filled > blockSize) this.overfull.push(b);
  }

  messages(): string[] {
    const { blocks, pins, blockSize } = this.mirror;
    const found: string[] = [];
    const first = this.holders[0];
    if (first !== undefined) {
      found.push(
        `count is not entries + pins in ${some(this.holders)}: block ${first} has count ${blocks.count[first]} ` +
          `and ${holders(blocks, pins, first)} holders`,
      );
    }
    if (this.queue.length > 0) found.push(`in the queue and in use at once, or neither: ${some(this.queue)}`);
    if (this.notFull.length > 0) found.push(`content in a block that is not full: ${some(this.notFull)}`);
    if (this.hits.length > 0) found.push(`hits without content: ${some(this.hits)}`);
    if (this.overfull.length > 0) {
      found.push(`filled past the block size of ${blockSize}: ${some(this.overfull)}`);
    }
    return found;
  }
}

/** The holders of a block: entries and pins. The entries of a null block are not counted. */
function holders(blocks: Blocks, pins: Mirror['pins'], b: number): number {
  const isNull = pins.map.get(b)?.has(Pin.null_block) ?? false;
  return (isNull ? 0 : blocks.entries[b]!) + pins.total(b);
}

/** A sentence for each invariant that a block touched by the last record breaks. */
export function brokenInTouched(mirror: Mirror): string[] {
  const broken = new Broken(mirror);
  const { touched, touchedCount } = mirror.blocks;
  for (let i = 0; i < touchedCount; i++) broken.look(touched[i]!);
  return broken.messages();
}

/**
 * A sentence for each invariant that does not hold in the whole state. `tickets`: look for two blocks of the free queue
 * with one ticket too, which takes a sort.
 */
export function brokenInvariants(mirror: Mirror, requests: Requests, tickets = true): string[] {
  const { blocks, tables } = mirror;
  const broken = new Broken(mirror);
  for (let b = 0; b < blocks.size; b++) broken.look(b);
  const found = broken.messages();
  if (tickets) {
    const queued = blocks.ticket.filter((ticket) => !Number.isNaN(ticket)).sort();
    for (let i = 1; i < queued.length; i++) {
      if (queued[i] === queued[i - 1]) {
        found.push(`two blocks of the free queue have ticket ${queued[i]}`);
        break;
      }
    }
  }
  for (const { sequence } of tables.map.values()) {
    const row = requests.sequences.get(sequence);
    if (row === undefined || row.dropped || !requests.rows.has(row.request)) {
      found.push(`sequence ${sequence} has a block table, but its request is not in the engine`);
      break;
    }
  }
  return found;
}
