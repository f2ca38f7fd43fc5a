import { expect, test } from 'vitest';
import { Picture } from './picture';

const change = {
  full: null,
  blocks: new Uint32Array(0),
  words: new Uint32Array(0),
  glow: Uint32Array.of(1),
  faint: new Uint32Array(0),
  jump: false,
  colouring: 'state',
  arrangement: null,
} as const;
const LATER = 1e6;

function glowOf(stands: boolean, decays: boolean): readonly [number, number] {
  const picture = new Picture();
  picture.reset(3);
  picture.apply(change, stands, decays);
  const now = picture.glow[1]!;
  picture.tick(performance.now() + LATER);
  return [now, picture.glow[1]!];
}

test('what changed glows and decays; for who wants no motion it is marked while the view stands, and never fades', () => {
  const [lit, gone] = glowOf(false, true);
  expect(lit).toBeGreaterThan(0);
  expect(gone).toBe(0);
  expect(glowOf(false, false)).toEqual([0, 0]);
  const [marked, still] = glowOf(true, false);
  expect(marked).toBeGreaterThan(0);
  expect(marked).toBeLessThan(lit);
  expect(still).toBe(marked);
});
