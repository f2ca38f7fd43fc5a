/**
 * The map's memory on the page: a word a block, and the texels that the map is drawn from. Plain arrays; never observed.
 *
 * A texel is the colour of the block's state, and as its alpha how much it glows. Glow decays here, over the few blocks
 * that glow at all, so that what is done for each pixel stays next to nothing.
 */

import type { MapChange } from '../worker/protocol';
import { classOf } from '../worker/word';

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
/** A texel's glow, in its word. */
const GLOW_BITS = 0xff000000;

/** What the texel of a word's class is, but for its glow; how full it shows: by class, and by class and fill. */
class Look {
  readonly texels = new Uint32Array(4);
  readonly fills = new Uint8Array(4 * 128);

  constructor() {
    for (let fill = 0; fill < 128; fill++)
      for (let kind = 2; kind < 4; kind++) this.fills[4 * fill + kind] = Math.round((fill / 127) * 255);
  }

  paint(colours: readonly Colour[]): void {
    colours.forEach(([red, green, blue], kind) => {
      this.texels[kind] = red | (green << 8) | (blue << 16);
    });
  }
}

/** Texels and fills of all words; texels keep their glow. A function of its own, since it goes over every block. */
function draw(words: Uint32Array, look: Look, texels: Uint32Array, fills: Uint8Array): void {
  const { texels: ofClass, fills: ofFill } = look;
  for (let b = 0; b < words.length; b++) {
    const word = words[b]!;
    const kind = word & 3;
    texels[b] = (texels[b]! & GLOW_BITS) | ofClass[kind]!;
    fills[b] = ofFill[((word >>> 10) & (127 << 2)) | kind]!;
  }
}

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
  /** All of them did. */
  private isAll = true;
  private colours: readonly Colour[] = [];
  private readonly look = new Look();
  /** A texel in one word, as machines that browsers run on have it: the glow in its highest byte. */
  private texelWords = new Uint32Array(this.texels.buffer);
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
    this.texelWords = new Uint32Array(this.texels.buffer);
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
    this.put();
    this.version++;
  }

  /** Take the colours of the four states. */
  paint(colours: readonly Colour[]): void {
    if (String(colours) === String(this.colours)) return;
    this.colours = colours;
    this.look.paint(colours);
    this.put();
    this.version++;
  }

  private touch(block: number): void {
    if (this.stamps[block] === 1) return;
    this.stamps[block] = 1;
    this.dirty[this.dirtyCount++] = block;
  }

  /** Bring the texels of all blocks up to date with their words. */
  private put(): void {
    draw(this.words, this.look, this.texelWords, this.fills);
    this.isAll = true;
  }

  private change(block: number, word: number): void {
    const kind = classOf(word);
    const { texels, fills } = this.look;
    this.words[block] = word;
    this.texelWords[block] = (this.texelWords[block]! & GLOW_BITS) | texels[kind]!;
    this.fills[block] = fills[((word >>> 10) & (127 << 2)) | kind]!;
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
      this.words = change.full;
      this.put();
    }
    for (let i = 0; i < change.blocks.length; i++) this.change(change.blocks[i]!, change.words[i]!);
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

  /** The blocks whose texels changed since the last call (a view, to be read at once); null: all did. */
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
