/** The grounds of chips of one size, made once for a look of the page, in device pixels: for each kind an empty and a full one. */

import { CHIP_HEIGHT } from './chips';
import { MONO } from './fonts';
import type { Palette } from './palette';

export const CHIP_KINDS = ['active', 'shared', 'copy'] as const;
export type ChipKind = (typeof CHIP_KINDS)[number];

const CORNER = 3;
const BAR = 2;
/** How far the bent corner of a copy reaches in. */
const BENT = 7;
const BARS = { active: 's-active', shared: 's-shared', copy: 'warn' } as const;

export interface ChipGrounds {
  /** Below one another: active empty, active full, shared empty, … */
  readonly image: ImageBitmap;
  /** Device pixels of a chip. */
  readonly width: number;
  readonly height: number;
  readonly font: string;
  /** Of the ref count. */
  readonly small: string;
  /** Device pixels of a digit of the two. */
  readonly digit: number;
  readonly smallDigit: number;
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
  const canvas = new OffscreenCanvas(width, height * 2 * CHIP_KINDS.length);
  const context = canvas.getContext('2d')!;
  CHIP_KINDS.forEach((kind, i) => {
    for (const isFull of [false, true]) {
      context.save();
      context.translate(0, height * (2 * i + (isFull ? 1 : 0)));
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
    }
  });
  const [font, small] = [11, 8].map((size) => `${size * ratio}px ${MONO}`) as [string, string];
  const widthOf = (face: string): number => {
    context.font = face;
    return context.measureText('0').width;
  };
  const digit = widthOf(font);
  const smallDigit = widthOf(small);
  return { image: canvas.transferToImageBitmap(), width, height, font, small, digit, smallDigit };
}
