/**
 * The map's memory on the page: a word a block, and the texels that the map is drawn from. Plain arrays; never observed.
 *
 * A texel is the colour of the block's state, and as its alpha how much it glows. Glow decays here, over the few blocks
 * that glow at all, so that what is done for each pixel stays next to nothing.
 */

import type { MapChange } from '../worker/protocol';
import { classOf, filledOf } from '../worker/word';

type Colour = readonly [number, number, number];

/** Blocks in a row of texels. */
export const TEXELS = 1024;
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
  texels: Uint8Array<ArrayBuffer> = new Uint8Array(4 * TEXELS);
  /** How full each block is, 0 to 255; none where nobody holds it. */
  fills: Uint8Array<ArrayBuffer> = new Uint8Array(TEXELS);
  rows = 1;
  /** Grows with every change of a word, so that who draws can tell. */
  version = 0;
  /** The blocks whose texels changed since the last drawing. */
  private dirty = new Uint32Array(0);
  private stamps = new Uint8Array(0);
  private dirtyCount = 0;
  private colours: readonly Colour[] = [];
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

  reset(size: number): void {
    this.words = new Uint32Array(size);
    this.rows = Math.max(1, Math.ceil(size / TEXELS));
    this.texels = new Uint8Array(4 * TEXELS * this.rows);
    this.fills = new Uint8Array(TEXELS * this.rows);
    this.dirty = new Uint32Array(size);
    this.stamps = new Uint8Array(size);
    this.dirtyCount = 0;
    this.began = new Float64Array(size);
    this.strength = new Uint8Array(size);
    this.list = new Uint32Array(size);
    this.listed = new Uint8Array(size);
    this.count = 0;
    this.resting = [];
    for (let block = 0; block < size; block++) this.put(block, 0);
    this.version++;
  }

  /** Take the colours of the four states. */
  paint(colours: readonly Colour[]): void {
    if (String(colours) === String(this.colours)) return;
    this.colours = colours;
    for (let block = 0; block < this.size; block++) this.put(block, this.words[block]!);
    this.version++;
  }

  private touch(block: number): void {
    if (this.stamps[block] === 1) return;
    this.stamps[block] = 1;
    this.dirty[this.dirtyCount++] = block;
  }

  private put(block: number, word: number): void {
    const kind = classOf(word);
    const colour = this.colours[kind];
    const at = 4 * block;
    this.words[block] = word;
    this.fills[block] = kind >= 2 ? Math.round(filledOf(word) * 255) : 0;
    if (colour !== undefined) {
      this.texels[at] = colour[0];
      this.texels[at + 1] = colour[1];
      this.texels[at + 2] = colour[2];
    }
    this.touch(block);
  }

  private light(block: number, glow: number): void {
    if (this.texels[4 * block + 3] === glow) return;
    this.texels[4 * block + 3] = glow;
    this.touch(block);
  }

  private glow(blocks: Uint32Array, strength: number, now: number): void {
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
    if (change.full !== null && change.full.length === this.size) {
      for (let block = 0; block < this.size; block++) {
        if (this.words[block] !== change.full[block]) this.put(block, change.full[block]!);
      }
    }
    for (let i = 0; i < change.blocks.length; i++) this.put(change.blocks[i]!, change.words[i]!);
    if (change.jump) this.douse();
    this.held = stands;
    if (decays || stands) {
      this.glow(change.faint, FAINT, now);
      this.glow(change.glow, STRONG, now);
    }
    if (!decays) this.tick(now + GLOW_END);
    this.version++;
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
      const ends = age >= GLOW_END;
      const part = ends ? least : Math.max(least, Math.exp(-age / GLOW_MS));
      this.light(block, Math.round(this.strength[block]! * part));
      if (ends) {
        this.listed[block] = 0;
        if (part > 0) this.resting.push(block);
      } else this.list[kept++] = block;
    }
    this.count = kept;
  }

  /** The blocks whose texels changed since the last call (a view, to be read at once). */
  takeDirty(): Uint32Array {
    const blocks = this.dirty.subarray(0, this.dirtyCount);
    for (const block of blocks) this.stamps[block] = 0;
    this.dirtyCount = 0;
    return blocks;
  }
}

export const picture = new Picture();
