/** Which blocks changed since the page last saw the map, and what the map needs to know of each. */

import type { Blocks } from '../ledger/blocks';
import { decodeOperations } from '../ledger/columns';
import type { Fold } from '../ledger/fold';
import { Operation } from '../ledger/generated/constants';
import type { Step } from '../ledger/generated/types';
import type { MapChange } from './protocol';
import type { Colouring } from './shades';
import { FILLED_BITS, Packer, SHADE_AT, STATE_BITS } from './word';

export class Changes {
  private readonly list: Uint32Array;
  private readonly stamp: Uint32Array;
  private count = 0;
  private mark = 1;
  private full = true;
  private recoloured = false;
  private jumped = true;
  /** The words that the page has. */
  readonly sent: Uint32Array;
  private readonly packer: Packer;
  /** The words without shades, and the blocks whose words differ: where the map has shades. */
  private states = new Uint32Array(0);
  private differing = new Uint32Array(0);

  constructor(size: number, blockSize: number) {
    this.packer = new Packer(blockSize);
    this.list = new Uint32Array(size);
    this.stamp = new Uint32Array(size);
    this.sent = new Uint32Array(size);
  }

  get any(): boolean {
    return this.full || this.recoloured || this.count > 0 || this.jumped;
  }

  /** The whole state is another one. */
  all(): void {
    this.full = true;
    this.jumped = true;
  }

  /** The same state, in other colours. */
  recolour(): void {
    this.recoloured = true;
  }

  /** The view moved to another step by itself: what glowed before glows no more. */
  jump(): void {
    this.jumped = true;
  }

  /** A record changed these blocks. */
  add(blocks: Blocks): void {
    for (let i = 0; i < blocks.touchedCount; i++) {
      const block = blocks.touched[i]!;
      if (this.stamp[block] === this.mark) continue;
      this.stamp[block] = this.mark;
      this.list[this.count++] = block;
    }
  }

  /**
   * All changes since the last call. `step`: what the present step changed and filled; null: what changed since. Of another
   * state only those blocks are told whose words differ: what is near in time has most of them in common.
   */
  take(blocks: Blocks, step: StepChanges | null): MapChange {
    const { sent, list, packer } = this;
    const whole = this.full || this.recoloured;
    const count = whole ? packer.update(blocks, sent, list) : this.count;
    const isMost = count > blocks.size * MOST;
    const changed = whole && isMost ? EMPTY : list.slice(0, count);
    const words = new Uint32Array(changed.length);
    const glow = new Uint32Array(whole ? 0 : count);
    const faint = new Uint32Array(whole ? 0 : count);
    let glowing = 0;
    let fainting = 0;
    for (let i = 0; i < changed.length; i++) {
      const b = changed[i]!;
      if (whole) {
        words[i] = sent[b]!;
        continue;
      }
      const word = packer.word(blocks, b);
      const difference = word ^ sent[b]!;
      words[i] = word;
      sent[b] = word;
      if ((difference & ~FILLED_BITS) !== 0) glow[glowing++] = b;
      else faint[fainting++] = b;
    }
    const change: MapChange = {
      full: isMost ? sent.slice() : null,
      blocks: isMost ? EMPTY : changed,
      words: isMost ? EMPTY : words,
      glow: step?.changed ?? glow.slice(0, glowing),
      faint: step?.filled ?? faint.slice(0, fainting),
      jump: this.jumped,
      colouring: 'state',
      arrangement: null,
    };
    this.taken();
    return change;
  }

  /**
   * The same where the map is coloured by shades. Whatever happened, those of any block may be others: where a block is in the
   * free queue changes with each that leaves it.
   */
  takeShaded(
    blocks: Blocks,
    step: StepChanges | null,
    colouring: Exclude<Colouring, 'state'>,
    shades: Uint16Array,
  ): MapChange {
    const { sent, packer } = this;
    const { size } = blocks;
    if (this.states.length === 0)
      [this.states, this.differing] = [new Uint32Array(size), new Uint32Array(size)];
    const { states, differing } = this;
    const told = step ?? this.glowing(blocks);
    packer.update(blocks, states, differing);
    const count = shadeWords(states, shades, sent, differing);
    const isMost = count > size * MOST;
    const changed = isMost ? EMPTY : differing.slice(0, count);
    const change: MapChange = {
      full: isMost ? sent.slice() : null,
      blocks: changed,
      words: changed.map((block) => sent[block]!),
      glow: told.changed,
      faint: told.filled,
      jump: this.jumped,
      colouring,
      arrangement: null,
    };
    this.taken();
    return change;
  }

  /** What records changed since the last call, in the words that the page has. */
  private glowing(blocks: Blocks): StepChanges {
    if (this.full) return { changed: EMPTY, filled: EMPTY };
    const touched = this.list.slice(0, this.count);
    const isFilled = (b: number): boolean =>
      ((this.packer.word(blocks, b) ^ this.sent[b]!) & STATE_BITS & ~FILLED_BITS) === 0;
    return { changed: touched.filter((b) => !isFilled(b)), filled: touched.filter(isFilled) };
  }

  /** The page has them all. */
  private taken(): void {
    this.count = 0;
    this.full = false;
    this.recoloured = false;
    this.jumped = false;
    this.mark++;
    if (this.mark === 0xffffffff) {
      this.stamp.fill(0);
      this.mark = 1;
    }
  }
}

const EMPTY = new Uint32Array(0);
/** Of more changed blocks than this part of all, all are told: that is no more work to the page. */
const MOST = 0.15;

/** Bring words up to date with states and shades; the places of those that were others enter `changed`. Returns how many. */
function shadeWords(
  states: Uint32Array,
  shades: Uint16Array,
  words: Uint32Array,
  changed: Uint32Array,
): number {
  let found = 0;
  for (let b = 0; b < words.length; b++) {
    const word = (states[b]! | (shades[b]! << SHADE_AT)) >>> 0;
    if (words[b] !== word) {
      words[b] = word;
      changed[found++] = b;
    }
  }
  return found;
}

/** The blocks that one step changed, and those that it only filled further. */
export interface StepChanges {
  readonly changed: Uint32Array;
  readonly filled: Uint32Array;
}

export function changesOf(step: Step | null, numBlocks: number): StepChanges {
  const changed = new Set<number>();
  const filled = new Set<number>();
  try {
    const columns = decodeOperations(step?.operations);
    for (let i = 0; i < columns.length; i++) {
      (columns.kind[i] === Operation.fill ? filled : changed).add(columns.block[i]!);
    }
    for (const source of columns.source) changed.add(source);
  } catch {
    // What can't be read is the fold's to report.
  }
  const inPool = (block: number): boolean => block < numBlocks;
  return {
    changed: Uint32Array.from(changed).filter(inPool),
    filled: Uint32Array.from(filled).filter((block) => inPool(block) && !changed.has(block)),
  };
}

/** Note the blocks that a step's copies on write made, each with the generation that it began. */
export function noteCopies(copied: Map<number, number>, fold: Fold, step: Step): void {
  const { kind, block, source } = step.operations ?? {};
  if (kind === undefined || block === undefined || source === undefined) return;
  const blocks = new DataView(block.buffer, block.byteOffset, block.byteLength);
  for (let i = kind.indexOf(Operation.copy); i >= 0; i = kind.indexOf(Operation.copy, i + 1)) {
    const target = blocks.getUint32(4 * i, true);
    if (target < fold.numBlocks) copied.set(target, fold.blocks.generation[target]!);
  }
}
