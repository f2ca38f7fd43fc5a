/**
 * The map as the GPU is told it: a texel a block, of the colour of its state or shade and with its glow as alpha, and how full it shows.
 * Plain arrays, brought up to date with the page's words where those changed.
 */

import type { Picture } from '../../store/picture';
import type { Colours } from './colours';

/** Blocks in a row of texels. */
export const TEXELS = 1024;

export class Texels {
  colours = new Uint8Array(0);
  /** How full each block is, 0 to 255; none where nobody holds it. */
  fills = new Uint8Array(0);
  rows = 0;
  /** The same as colours, a texel in one word: the glow in its highest byte, as machines that browsers run on have it. */
  private words = new Uint32Array(0);
  /** By class and fill, as a word has them. */
  private readonly ofFill = new Uint8Array(4 * 128);
  private of: Colours | null = null;

  constructor() {
    for (let fill = 0; fill < 128; fill++)
      for (let kind = 2; kind < 4; kind++) this.ofFill[4 * fill + kind] = Math.round((fill / 127) * 255);
  }

  /** Take the blocks of a picture that changed, null: all; returns those of which the texels may have changed, null: all. */
  update(picture: Picture, colours: Colours, blocks: Uint32Array | null): Uint32Array | null {
    const rows = Math.max(1, Math.ceil(picture.size / TEXELS));
    const isAll = blocks === null || rows !== this.rows || colours !== this.of;
    this.of = colours;
    if (rows !== this.rows) {
      this.rows = rows;
      this.words = new Uint32Array(TEXELS * rows);
      this.colours = new Uint8Array(this.words.buffer);
      this.fills = new Uint8Array(TEXELS * rows);
    }
    if (isAll) this.put(picture.words, picture.glow, colours);
    else for (let i = 0; i < blocks.length; i++) this.putOne(picture, blocks[i]!, colours);
    return isAll ? null : blocks;
  }

  private put(from: Uint32Array, glow: Uint8Array, { pixels, shift, mask }: Colours): void {
    const { words, fills, ofFill } = this;
    for (let b = 0; b < from.length; b++) {
      const word = from[b]!;
      words[b] = (pixels[(word >>> shift) & mask]! & 0xffffff) | (glow[b]! << 24);
      fills[b] = ofFill[((word >>> 10) & (127 << 2)) | (word & 3)]!;
    }
  }

  private putOne(picture: Picture, block: number, colours: Colours): void {
    const word = picture.words[block]!;
    this.words[block] = (colours.pixels[colours.place(word)]! & 0xffffff) | (picture.glow[block]! << 24);
    this.fills[block] = this.ofFill[((word >>> 10) & (127 << 2)) | (word & 3)]!;
  }
}
