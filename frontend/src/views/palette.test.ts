/**
 * The colours can be told apart with any kind of colour vision, and text can be read on what it stands on.
 *
 * Colour vision: the matrices of Machado, Oliveira and Fernandes (2009), “A Physiologically-based Model for Simulation of
 * Color Vision Deficiency”, severity 1, in linear RGB. Differences: CIEDE2000 (Sharma, Wu and Dalal 2005), of which about 1
 * can just be seen and 10 is seen at a glance. Contrast: WCAG 2.2.
 */

import { expect, test } from 'vitest';
import { PALETTES, type Palette, rgb, SCALE_COLOURS } from './palette';

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

const VISIONS: Readonly<Record<string, Matrix>> = {
  'any colour': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function times(matrix: Matrix, [x, y, z]: Triple): Triple {
  const row = ([a, b, c]: Triple): number => a * x + b * y + c * z;
  return [row(matrix[0]), row(matrix[1]), row(matrix[2])];
}

function linear(colour: string): Triple {
  const [r, g, b] = rgb(colour).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return [r!, g!, b!];
}

/** CIELAB under D65 of a colour as somebody sees it. */
function lab(colour: string, vision: Matrix): Triple {
  const seen = times(vision, linear(colour)).map((part) => Math.min(1, Math.max(0, part)));
  const xyz = times(
    [
      [0.4124564, 0.3575761, 0.1804375],
      [0.2126729, 0.7151522, 0.072175],
      [0.0193339, 0.119192, 0.9503041],
    ],
    [seen[0]!, seen[1]!, seen[2]!],
  );
  const f = (part: number): number =>
    part > 216 / 24389 ? Math.cbrt(part) : ((24389 / 27) * part + 16) / 116;
  const [x, y, z] = [f(xyz[0] / 0.95047), f(xyz[1]), f(xyz[2] / 1.08883)];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const DEGREE = Math.PI / 180;

function deltaE([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const grey = (chroma: number): number => Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7));
  const g = 0.5 * (1 - grey((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2));
  const [p1, p2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (a: number, b: number): number =>
    a === 0 && b === 0 ? 0 : (Math.atan2(b, a) / DEGREE + 360) % 360;
  const [h1, h2] = [hue(p1, b1), hue(p2, b2)];
  const turn = c1 * c2 === 0 ? 0 : ((h2 - h1 + 540) % 360) - 180;
  const dh = 2 * Math.sqrt(c1 * c2) * Math.sin((turn / 2) * DEGREE);
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const h = c1 * c2 === 0 ? h1 + h2 : (h1 + turn / 2 + 360) % 360;
  const t =
    1 -
    0.17 * Math.cos((h - 30) * DEGREE) +
    0.24 * Math.cos(2 * h * DEGREE) +
    0.32 * Math.cos((3 * h + 6) * DEGREE) -
    0.2 * Math.cos((4 * h - 63) * DEGREE);
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [sc, sh] = [1 + 0.045 * c, 1 + 0.015 * c * t];
  const rt = -Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * DEGREE) * 2 * grey(c);
  const [x, y, z] = [(l2 - l1) / sl, (c2 - c1) / sc, dh / sh];
  return Math.sqrt(x * x + y * y + z * z + rt * y * z);
}

function contrast(one: string, other: string): number {
  const luminance = (colour: string): number => {
    const [r, g, b] = linear(colour);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

type Name = keyof Palette;

/** What lies side by side, and must not be taken for one another. */
const SCALES: Readonly<Record<string, readonly Name[]>> = {
  'states of blocks': ['s-free', 's-cached', 's-active', 's-shared'],
  'what a block changed to': ['s-new', 's-free', 's-cached', 's-active', 's-shared'],
  'a scale': ['s-free', 'm-1', 'm-2', 'm-3', 'm-4', 'm-5', 'm-6', 'm-unknown'],
  owners: [
    ...(['s-free', 's-cached', 'm-unknown', 'o-selected'] as const),
    ...(['o-1', 'o-2', 'o-3', 'o-4', 'o-5', 'o-6', 'o-7', 'o-8'] as const),
  ],
  'tokens of a step': ['prefill', 'decode', 'bg'],
  'the digest light': ['ok', 'bad', 'panel'],
};
const SEEN_AT_A_GLANCE = 10;

const pairs = <T>(all: readonly T[]): [T, T][] =>
  all.flatMap((one, at) => all.slice(at + 1).map((other): [T, T] => [one, other]));

test('the difference of two colours is the published one', () => {
  // The pairs 1, 7, 13 and 25 of the data that Sharma, Wu and Dalal publish with the formula.
  expect(deltaE([50, 2.6772, -79.7751], [50, 0, -82.7485])).toBeCloseTo(2.0425, 4);
  expect(deltaE([50, 0, 0], [50, -1, 2])).toBeCloseTo(2.3669, 4);
  expect(deltaE([50, 2.5, 0], [50, 0, -2.5])).toBeCloseTo(4.3065, 4);
  expect(deltaE([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387])).toBeCloseTo(1.2644, 4);
});

for (const [theme, palette] of Object.entries(PALETTES)) {
  for (const [vision, matrix] of Object.entries(VISIONS)) {
    test(`${theme}, ${vision}: what lies side by side is told apart`, () => {
      const close = Object.entries(SCALES).flatMap(([scale, names]) =>
        pairs(names).flatMap(([one, other]) => {
          const difference = deltaE(lab(palette[one], matrix), lab(palette[other], matrix));
          return difference < SEEN_AT_A_GLANCE
            ? [`${scale}: ${one} ~ ${other}: ${difference.toFixed(1)}`]
            : [];
        }),
      );
      expect(close).toEqual([]);
    });
  }

  test(`${theme}: a scale goes from the ground on to what differs from it most, in any vision`, () => {
    for (const matrix of Object.values(VISIONS)) {
      const lightness = (['bg', 's-free', ...SCALE_COLOURS] as const).map(
        (name) => lab(palette[name], matrix)[0],
      );
      const steps = lightness.slice(1).map((each, i) => (each - lightness[i]!) * (theme === 'dark' ? 1 : -1));
      expect(steps.filter((step) => step <= 0)).toEqual([]);
    }
  });

  test(`${theme}: text can be read`, () => {
    const grounds: readonly Name[] = ['bg', 'panel', 'raised'];
    const onGrounds = (
      ['text', 'dim', 'faint', 'accent', 'warn', 'bad', 'ok', 'ink-active'] as const
    ).flatMap((ink) => grounds.map((ground): [Name, Name] => [ink, ground]));
    const others: [Name, Name][] = [
      ['text', 'accent-ground'],
      ['dim', 'accent-ground'],
      ['accent', 'accent-ground'],
      ['warn', 'warn-ground'],
      ['bad', 'bad-ground'],
      ['chip-active-text', 'chip-active'],
      ['chip-shared-text', 'chip-shared'],
      ['chip-cached-text', 'chip-cached'],
      ['chip-copy-text', 'chip-copy'],
    ];
    const poor = [...onGrounds, ...others].flatMap(([ink, ground]) => {
      const ratio = contrast(palette[ink], palette[ground]);
      return ratio < 4.5 ? [`${ink} on ${ground}: ${ratio.toFixed(2)}`] : [];
    });
    expect(poor).toEqual([]);
  });
}
