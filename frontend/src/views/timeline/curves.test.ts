import { expect, test, vi } from 'vitest';
import type { Buckets } from '../../worker/series';
import { PALETTES, rgb } from '../palette';
import { Curves } from './curves';
import { layoutFor } from './draw';

const palette = PALETTES.dark;
const layout = layoutFor(478, 240);

function pixelOf(colour: string): string {
  return [...rgb(colour), 255].join();
}

/** Four steps, a hundred pixels each: the third is not known. */
function buckets(): Buckets {
  const each = (...values: number[]): Float32Array => Float32Array.from(values);
  return {
    window: { from: 0, to: 4 },
    from: 0,
    per: 1,
    active: each(5, 0, Number.NaN, 10),
    shared: each(2, 0, Number.NaN, 0),
    cached: each(1, 0, Number.NaN, 0),
    prefill: each(0, 64, 0, 0),
    decode: each(4, 0, 0, 0),
    evict: each(3, 0, 0, 0),
    copy: each(0, 1, 0, 0),
    preempted: each(0, 0, 0, 0),
    queries: Float64Array.from([4, 0, Number.NaN, 4]),
    hits: Float64Array.from([2, 0, Number.NaN, 4]),
    maxTokens: 64,
    most: each(7, 0, Number.NaN, 10),
    prefillSum: each(0, 64, 0, 0),
    decodeSum: each(4, 0, 0, 0),
    known: each(1, 1, 0, 1),
    filling: false,
  };
}

/** How many rows of each colour there are in a column, of those that lie in a lane. */
function column(x: number, top: number, height: number): Map<string, number> {
  vi.stubGlobal(
    'ImageData',
    class {
      readonly data: Uint8ClampedArray;
      constructor(
        readonly width: number,
        readonly height: number,
      ) {
        this.data = new Uint8ClampedArray(4 * width * height);
      }
    },
  );
  let image: ImageData | null = null;
  const context = {
    canvas: { width: 478 },
    putImageData: (put: ImageData) => {
      image = put;
    },
  } as unknown as CanvasRenderingContext2D;
  const scene = { buckets: buckets(), window: { from: 0, to: 4 }, layout, palette, usable: 10 };
  new Curves().draw(context, { ...scene, listed: [], lastStep: 3 }, 1);
  const rows = new Map<string, number>();
  for (let y = top; y < top + height; y++) {
    const at = 4 * (y * image!.width + x);
    const pixel = image!.data.slice(at, at + 4).join();
    rows.set(pixel, (rows.get(pixel) ?? 0) + 1);
  }
  return rows;
}

const middleOf = (step: number): number => layout.left + 100 * step + 50;

test('usage is stacked: a row of pixels stands for as many blocks in each colour', () => {
  const rows = column(middleOf(0), layout.marks, layout.use);
  const part = layout.use / 10;
  for (const [name, blocks] of [
    ['s-active', 5],
    ['s-shared', 2],
    ['s-cached', 1],
    ['s-free', 2],
  ] as const)
    expect(Math.abs((rows.get(pixelOf(palette[name])) ?? 0) - blocks * part)).toBeLessThanOrEqual(1);
});

test('a full pool fills its column, an empty one leaves it free, and what is not known stays empty', () => {
  expect([...column(middleOf(3), layout.marks, layout.use).keys()]).toEqual([pixelOf(palette['s-active'])]);
  expect([...column(middleOf(1), layout.marks, layout.use).keys()]).toEqual([pixelOf(palette['s-free'])]);
  expect([...column(middleOf(2), layout.marks, layout.use).keys()]).toEqual(['0,0,0,0']);
});

test('of the tokens a quarter of the height is a sixteenth of the most, by its root', () => {
  const top = layout.marks + layout.use + 6;
  const decoded = column(middleOf(0), top, layout.tokens).get(pixelOf(palette.decode));
  expect(decoded).toBe(Math.round(layout.tokens / 4));
  expect(column(middleOf(1), top, layout.tokens).get(pixelOf(palette.prefill))).toBe(layout.tokens);
});

test('the hit rate stands at its height, and nowhere where it is not recorded', () => {
  const top = layout.marks + layout.use + 6 + layout.tokens + 6;
  const ground = pixelOf(palette['s-cached']);
  const half = column(middleOf(0), top, layout.hits).get(ground) ?? 0;
  expect(Math.abs(half - layout.hits / 2)).toBeLessThanOrEqual(2);
  expect(column(middleOf(2), top, layout.hits).get(ground)).toBeUndefined();
});
