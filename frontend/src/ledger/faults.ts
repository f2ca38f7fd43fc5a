/**
 * What is wrong with an operation, in sentences. The fold asks whether all is as it must be, and only where it is not
 * says here what: so no sentence is in the way of its loop.
 */

import { NONE } from './generated/constants';
import type { Fail, Mirror } from './operations';

/** Shows `NONE` as a person would say it. */
export function shown(value: number): string {
  return value === NONE ? 'nothing' : String(value);
}

/** Tells each thing that an operation does not find as it must. */
export class Faults {
  constructor(
    private readonly mirror: Mirror,
    private readonly fail: Fail,
  ) {}

  /** Of a block that is taken from the free queue, where its ticket is `told`. */
  queue(i: number, b: number, told: number): void {
    const { count, ticket } = this.mirror.blocks;
    if (count[b] !== 0) this.fail(i, `block ${b} has count ${count[b]}, not 0`);
    if (ticket[b] !== told) this.fail(i, `block ${b} has ticket ${ticket[b]}, not ${told}`);
  }

  /** Of a block whose life begins, filled to `before` in its last one. */
  life(i: number, b: number, before: number): void {
    const { content, filled } = this.mirror.blocks;
    if (content[b] !== NONE) this.fail(i, `block ${b} still holds content ${content[b]}`);
    if (filled[b] !== before) this.fail(i, `block ${b} was filled to ${filled[b]}, not ${before}`);
  }

  evict(i: number, b: number, told: number, hit: number): void {
    const { content, hits } = this.mirror.blocks;
    if (content[b] !== told || told === NONE) {
      this.fail(i, `block ${b} holds content ${shown(content[b]!)}, not ${shown(told)}`);
    }
    if (hits[b] !== hit) this.fail(i, `block ${b} had ${hits[b]} hits, not ${hit}`);
  }

  source(i: number, source: number, after: number): void {
    const { blocks, blockSize } = this.mirror;
    const { count, content, filled } = blocks;
    if (count[source]! < 2) this.fail(i, `the source ${source} has count ${count[source]}, not more than 1`);
    if (content[source] !== NONE || filled[source] === 0 || filled[source]! >= blockSize) {
      this.fail(i, `the source ${source} is not partly filled, or holds content`);
    }
    if (filled[source] !== after)
      this.fail(i, `the source ${source} is filled to ${filled[source]}, not ${after}`);
  }

  fill(i: number, b: number, before: number, after: number): void {
    const { blocks, blockSize } = this.mirror;
    const { count, content, filled } = blocks;
    if (count[b] !== 1) this.fail(i, `block ${b} is written with count ${count[b]}, not 1`);
    if (content[b] !== NONE) this.fail(i, `block ${b} is written but holds content ${content[b]}`);
    if (filled[b] !== before || before >= after || after > blockSize) {
      this.fail(
        i,
        `block ${b} is filled to ${filled[b]} of ${blockSize}; the fill goes from ${before} to ${after}`,
      );
    }
  }

  cache(i: number, b: number, id: number): void {
    const { blocks, contents, blockSize } = this.mirror;
    const { content, filled } = blocks;
    if (filled[b] !== blockSize) this.fail(i, `block ${b} is labelled but filled to ${filled[b]} only`);
    if (content[b] !== NONE) this.fail(i, `block ${b} is labelled twice: it holds ${content[b]}`);
    if (id >= contents.next) this.fail(i, `content ${id} was never interned`);
  }
}
