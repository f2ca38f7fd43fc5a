/** What all chips of one size are made of, made once for a look of the page, in device pixels: their grounds, and their words. */

import { CHIP_HEIGHT } from './chips';
import { MONO } from './fonts';
import { Glyphs } from './glyphs';
import type { Palette } from './palette';

export const CHIP_KINDS = ['active', 'shared', 'copy'] as const;
export type ChipKind = (typeof CHIP_KINDS)[number];

const CORNER = 3;
const BAR = 2;
/** How far the bent corner of a copy reaches in. */
const BENT = 7;
const BARS = { active: 's-active', shared: 's-shared', copy: 'warn' } as const;

export interface ChipGrounds {
  /** Of each kind, as a canvas has them. */
  readonly empty: Readonly<Record<ChipKind, Uint32Array>>;
  readonly full: Readonly<Record<ChipKind, Uint32Array>>;
  /** Device pixels of a chip. */
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
  readonly words: Glyphs;
  /** The ref count's. */
  readonly counts: Glyphs;
}

let last: { of: string; grounds: ChipGrounds } | null = null;

/** `width`: CSS pixels; `ratio`: device pixels a CSS pixel. */
export function chipGrounds(width: number, ratio: number, palette: Palette): ChipGrounds {
  const of = [width, ratio, palette.bg].join();
  if (last?.of !== of) last = { of, grounds: make(Math.round(width * ratio), ratio, palette) };
  return last.grounds;
}

function make(width: number, ratio: number, palette: Palette): ChipGrounds {
  const height = Math.round(CHIP_HEIGHT * ratio);
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true })!;
  const draw = (kind: ChipKind, isFull: boolean): Uint32Array => {
    context.save();
    context.clearRect(0, 0, width, height);
    context.beginPath();
    context.roundRect(0, 0, width, height, CORNER * ratio);
    context.clip();
    context.fillStyle = palette[`chip-${kind}`];
    context.fillRect(0, 0, width, height);
    context.fillStyle = palette[BARS[kind]];
    const bar = Math.max(1, Math.round(BAR * ratio));
    if (isFull) context.fillRect(0, height - bar, width, bar);
    if (kind === 'copy') {
      context.beginPath();
      context.moveTo(width - BENT * ratio, 0);
      context.lineTo(width, 0);
      context.lineTo(width, BENT * ratio);
      context.fill();
    }
    context.restore();
    return new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  };
  const all = (isFull: boolean): Record<ChipKind, Uint32Array> => ({
    active: draw('active', isFull),
    shared: draw('shared', isFull),
    copy: draw('copy', isFull),
  });
  return {
    empty: all(false),
    full: all(true),
    width,
    height,
    ratio,
    words: new Glyphs(11 * ratio, MONO),
    counts: new Glyphs(8 * ratio, MONO),
  };
}
