/** The pixels of a sheet of chips: made by the page, as a canvas without a GPU takes ten times as long for their text alone. */

import type { ChipGrounds, ChipKind } from './chipGrounds';
import type { Glyphs, Mask } from './glyphs';
import { type Palette, rgb } from './palette';

/** A chip as it is to be seen; its place is its corner, in device pixels. */
export interface Look {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly label: string;
  /** null: words, or a place without a block, on no ground. */
  readonly kind: ChipKind | null;
  /** Device pixels of the ground that are full. */
  readonly filled: number;
  readonly count: number;
  readonly framed: 'hot' | 'target' | 'source' | null;
}

const DIGITS = /^\d+$/;
const ZERO = 48;

/** A colour as a canvas has it, but for its opacity. */
function inkOf(colour: string): number {
  const [red, green, blue] = rgb(colour);
  return red | (green << 8) | (blue << 16);
}

/** A pixel of which a part of 255 is covered by an ink. */
export function inked(pixel: number, ink: number, cover: number): number {
  const opacity = pixel >>> 24;
  if (opacity === 0) return (ink | (cover << 24)) >>> 0;
  const part = cover + (cover >> 7);
  const [red, green, blue] = [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255];
  return (
    ((red + ((((ink & 255) - red) * part + 128) >> 8)) |
      ((green + (((((ink >>> 8) & 255) - green) * part + 128) >> 8)) << 8) |
      ((blue + (((((ink >>> 16) & 255) - blue) * part + 128) >> 8)) << 16) |
      (Math.max(opacity, cover) << 24)) >>>
    0
  );
}

export class ChipPixels {
  private readonly pixels: Uint32Array;
  private readonly image: ImageData;
  /** What changed since it was shown last: the first and the last row and column, and those behind them. */
  private dirty = { left: Number.POSITIVE_INFINITY, top: Number.POSITIVE_INFINITY, right: 0, bottom: 0 };

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  /** Put what changed on a canvas of this size. */
  show(context: CanvasRenderingContext2D): void {
    const { left, top, right, bottom } = this.dirty;
    if (left >= right || top >= bottom) return;
    context.putImageData(this.image, 0, 0, left, top, right - left, bottom - top);
    this.dirty = { left: Number.POSITIVE_INFINITY, top: Number.POSITIVE_INFINITY, right: 0, bottom: 0 };
  }

  /** Nothing is there any more. */
  clear(x: number, y: number, width: number, height: number): void {
    const [left, right] = [Math.max(0, x), Math.min(this.width, x + width)];
    const [top, bottom] = [Math.max(0, y), Math.min(this.height, y + height)];
    for (let row = top; row < bottom; row++)
      this.pixels.fill(0, row * this.width + left, row * this.width + right);
    this.touch(left, top, right, bottom);
  }

  /** A chip where nothing is. */
  draw(look: Look, grounds: ChipGrounds, palette: Palette): void {
    const { x, y, width, label, kind, count, framed } = look;
    const { height, ratio, words, counts } = grounds;
    if (kind !== null) this.ground(look, kind, grounds);
    const ink = inkOf(kind === null ? palette.faint : palette[`chip-${kind}-text`]);
    const inset = count > 1 ? 3 * ratio : (width - label.length * words.digit) / 2;
    this.write(words, label, Math.round(x + inset), y + Math.round(12.5 * ratio), ink);
    if (count > 1) {
      const told = String(count);
      const left = Math.round(x + width - 2 * ratio - told.length * counts.digit);
      this.write(counts, told, left, y + Math.round(7.5 * ratio), inkOf(palette['s-shared']));
    }
    this.touch(
      Math.max(0, x),
      Math.max(0, y),
      Math.min(this.width, x + width),
      Math.min(this.height, y + height),
    );
    if (framed !== null) {
      const colour = framed === 'hot' ? palette.accent : palette['chip-copy-text'];
      this.frame(x, y, width, height, inkOf(colour), ratio, framed === 'source');
    }
  }

  private touch(left: number, top: number, right: number, bottom: number): void {
    const { dirty } = this;
    dirty.left = Math.min(dirty.left, left);
    dirty.top = Math.min(dirty.top, top);
    dirty.right = Math.max(dirty.right, right);
    dirty.bottom = Math.max(dirty.bottom, bottom);
  }

  private ground({ x, y, filled }: Look, kind: ChipKind, { empty, full, width, height }: ChipGrounds): void {
    const { pixels } = this;
    const [emptied, whole] = [empty[kind], full[kind]];
    const [from, to] = [Math.max(0, -x), Math.min(width, this.width - x)];
    const until = Math.min(to, filled);
    for (let row = Math.max(0, -y); row < height && y + row < this.height; row++) {
      const start = (y + row) * this.width + x;
      const own = row * width;
      for (let column = from; column < until; column++) pixels[start + column] = whole[own + column]!;
      for (let column = Math.max(from, until); column < to; column++)
        pixels[start + column] = emptied[own + column]!;
    }
  }

  private write(glyphs: Glyphs, word: string, x: number, y: number, ink: number): void {
    if (!DIGITS.test(word)) {
      this.stamp(glyphs.wordOf(word), x, y, ink);
      return;
    }
    for (let i = 0; i < word.length; i++) {
      const { mask, x: left } = glyphs.digitAt(word.charCodeAt(i) - ZERO, x + i * glyphs.digit);
      this.stamp(mask, left, y, ink);
    }
  }

  private stamp({ left, top, width, height, cover }: Mask, x: number, y: number, ink: number): void {
    const { pixels } = this;
    for (let row = 0; row < height; row++) {
      const at = y + top + row;
      if (at < 0 || at >= this.height) continue;
      for (let column = 0; column < width; column++) {
        const part = cover[row * width + column]!;
        const to = x + left + column;
        if (part === 0 || to < 0 || to >= this.width) continue;
        pixels[at * this.width + to] = inked(pixels[at * this.width + to]!, ink, part);
      }
    }
  }

  /** Around a chip: whole, or in dashes. */
  private frame(
    x: number,
    y: number,
    width: number,
    height: number,
    ink: number,
    ratio: number,
    isDashed: boolean,
  ): void {
    const line = Math.max(1, Math.round(1.5 * ratio));
    const corner = Math.round(1.5 * ratio);
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const [aside, above] = [Math.min(column, width - 1 - column), Math.min(row, height - 1 - row)];
        if (aside >= line && above >= line) {
          // To the other side.
          column = width - 1 - line;
          continue;
        }
        if (aside + above < corner) continue;
        const along = above < line ? column : row;
        if (isDashed && along % (5 * ratio) >= 3 * ratio) continue;
        this.point(x + column, y + row, ink);
      }
    }
  }

  private point(x: number, y: number, ink: number): void {
    if (x < 0 || x >= this.width || y < 0 || y >= this.height) return;
    this.pixels[y * this.width + x] = (ink | 0xff000000) >>> 0;
  }
}
