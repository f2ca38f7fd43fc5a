import { expect, test } from 'vitest';
import { area } from './Curve';

test('a curve is as high as the pool is full, and broken in a gap', () => {
  expect(area([500, 1000])).toBe('M0 24V12.0h1V0.0h1V24Z');
  expect(area([0, null, 250])).toBe('M0 24V24.0h1V24ZM2 24V18.0h1V24Z');
  expect(area([])).toBe('');
});
