/**
 * The map's memory on the page: a word a cell, and how much each cell glows. Plain arrays; never observed.
 *
 * In each cell lies a block: the one whose number the cell has, or where they lie in another order the one that the worker said.
 * What draws the map knows cells only.
 *
 * Glow decays here, over the few blocks that glow at all, so that what is done for each block stays nothing: a new state of a
 * million blocks is taken as it came, and what draws it makes pixels of its words.
 */

import { type Arrangement, BY_NUMBER } from '../worker/order';
import type { MapChange } from '../worker/protocol';
import type { Colouring } from '../worker/shades';
import type { WordOf } from '../worker/word';

/** ms in which glow falls to a third. */
const GLOW_MS = 520;
/** ms after which nothing of it is left to see. */
const GLOW_END = 5 * GLOW_MS;
const STRONG = 255;
const FAINT = 80;
/** The least glow of what the present step changed, while the view stands still. */
const HELD = 0.42;

export class Picture {
  words: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  private arrangement: Arrangement = BY_NUMBER;
  /** Grows when blocks come to lie elsewhere. */
  orderVersion = 0;
  /** By what the words colour the map. */
  colouring: Colouring = 'state';
  /** How much each block glows, 0 to 255. */
  glow = new Uint8Array(0);
  /** Grows with every change of a word, so that who draws can tell. */
  version = 0;
  /** The blocks that look otherwise since the last drawing. */
  private dirty = new Uint32Array(0);
  private stamps = new Uint8Array(0);
  private dirtyCount = 0;
  /** All of them did. */
  private isAll = true;
  /** The blocks that glow: when they began to (ms), how strongly, and where in the list they are. */
  private began = new Float64Array(0);
  private strength = new Uint8Array(0);
  private list = new Uint32Array(0);
  private listed = new Uint8Array(0);
  private count = 0;
  /** Those that glow no more than what is held. */
  private resting: number[] = [];
  /** While the view stands at a step, what it changed keeps some of its glow. */
  private held = false;

  get size(): number {
    return this.words.length;
  }

  /** Does any block still lose glow? */
  get glowing(): boolean {
    return this.count > 0;
  }

  /** Cells that belong together: the first of each group, and whose it is. */
  get groups(): Uint32Array {
    return this.arrangement.groups;
  }

  blockAt(cell: number): number {
    return this.arrangement.blockAt?.[cell] ?? cell;
  }

  cellOf(block: number): number {
    return this.arrangement.cellOf?.[block] ?? block;
  }

  /** The word of a block; 0: there is no such block. */
  wordOf(block: number): number {
    return this.words[this.cellOf(block)] ?? 0;
  }

  reset(size: number): void {
    this.arrangement = BY_NUMBER;
    this.words = new Uint32Array(size);
    this.colouring = 'state';
    this.glow = new Uint8Array(size);
    this.dirty = new Uint32Array(size);
    this.stamps = new Uint8Array(size);
    this.dirtyCount = 0;
    this.began = new Float64Array(size);
    this.strength = new Uint8Array(size);
    this.list = new Uint32Array(size);
    this.listed = new Uint8Array(size);
    this.count = 0;
    this.resting = [];
    this.isAll = true;
    this.version++;
  }

  private touch(block: number): void {
    if (this.stamps[block] === 1) return;
    this.stamps[block] = 1;
    this.dirty[this.dirtyCount++] = block;
  }

  private light(block: number, glow: number): void {
    if (this.glow[block] === glow) return;
    this.glow[block] = glow;
    this.touch(block);
  }

  private kindle(blocks: Uint32Array, strength: number, now: number): void {
    for (let i = 0; i < blocks.length; i++) {
      const block = blocks[i]!;
      if (block >= this.size) continue;
      this.began[block] = now;
      this.strength[block] = strength;
      if (this.listed[block] === 0) {
        this.listed[block] = 1;
        this.list[this.count++] = block;
      }
      this.light(block, strength);
    }
  }

  /** `stands`: the view stands at a step. `decays`: glow is for readers who do not mind motion. */
  apply(change: MapChange, stands: boolean, decays: boolean): void {
    const now = performance.now();
    this.colouring = change.colouring;
    if (change.arrangement !== null) this.rearrange(change.arrangement);
    if (change.full !== null && change.full.length === this.size) {
      this.words = change.full;
      this.isAll = true;
    }
    for (let i = 0; i < change.blocks.length; i++) {
      const block = change.blocks[i]!;
      this.words[block] = change.words[i]!;
      this.touch(block);
    }
    if (change.jump) this.douse();
    this.held = stands;
    if (decays || stands) {
      this.kindle(change.faint, FAINT, now);
      this.kindle(change.glow, STRONG, now);
    }
    if (!decays) this.tick(now + GLOW_END);
    this.version++;
  }

  /** Blocks lie elsewhere from now on; those that glow take it with them. */
  private rearrange(next: Arrangement): void {
    const listed = Array.from(this.list.subarray(0, this.count), (cell) => ({
      block: this.blockAt(cell),
      began: this.began[cell]!,
      strength: this.strength[cell]!,
      glow: this.glow[cell]!,
    }));
    const resting = this.resting.map((cell) => ({ block: this.blockAt(cell), glow: this.glow[cell]! }));
    this.douse();
    this.arrangement = next;
    this.orderVersion++;
    for (const { block, began, strength, glow } of listed) {
      const cell = this.cellOf(block);
      [this.began[cell], this.strength[cell]] = [began, strength];
      this.listed[cell] = 1;
      this.list[this.count++] = cell;
      this.light(cell, glow);
    }
    for (const { block, glow } of resting) {
      this.resting.push(this.cellOf(block));
      this.light(this.cellOf(block), glow);
    }
  }

  /** Nothing glows any more. */
  private douse(): void {
    for (let i = 0; i < this.count; i++) {
      this.listed[this.list[i]!] = 0;
      this.light(this.list[i]!, 0);
    }
    this.count = 0;
    for (const block of this.resting) this.light(block, 0);
    this.resting = [];
  }

  /** Let glow decay to what it is now. */
  tick(now: number): void {
    const least = this.held ? HELD : 0;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const block = this.list[i]!;
      const age = now - this.began[block]!;
      const left = age >= GLOW_END ? 0 : Math.exp(-age / GLOW_MS);
      const part = Math.max(least, left);
      const ends = left <= least;
      this.light(block, Math.round(this.strength[block]! * part));
      if (ends) {
        this.listed[block] = 0;
        if (part > 0) this.resting.push(block);
      } else this.list[kept++] = block;
    }
    this.count = kept;
  }

  /** How many blocks may glow. */
  get litCount(): number {
    return this.count + this.resting.length;
  }

  /** The blocks that glow, also those that do so no more than what is held. */
  *lit(): Generator<number> {
    for (let i = 0; i < this.count; i++) yield this.list[i]!;
    yield* this.resting;
  }

  /** The blocks that look otherwise since the last call (a view, to be read at once); null: all may. */
  takeDirty(): Uint32Array | null {
    const blocks = this.dirty.subarray(0, this.dirtyCount);
    for (let i = 0; i < blocks.length; i++) this.stamps[blocks[i]!] = 0;
    this.dirtyCount = 0;
    const { isAll } = this;
    this.isAll = false;
    return isAll ? null : blocks;
  }
}

export const picture = new Picture();
export const wordOf: WordOf = (block) => picture.wordOf(block);

/** The words of blocks as they are when they are first asked for: for who shows a step that the picture may have left. */
export function heldWords(): WordOf {
  const held = new Map<number, number>();
  return (block) => {
    let word = held.get(block);
    if (word === undefined) {
      word = wordOf(block);
      held.set(block, word);
    }
    return word;
  };
}
