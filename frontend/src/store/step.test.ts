import { expect, test } from 'vitest';
import { readStep } from './step';

test('a step is a whole number up to the last one, and nothing is taken for another', () => {
  const read = (typed: string): unknown => readStep(typed, 1500);
  expect(['0', '1500', ' 12 ', '1 500', '1\u202f500'].map(read)).toEqual([0, 1500, 12, 1500, 1500]);
  expect(['-5', '12.5', '1e3', 'x', '0x10'].map(read)).toEqual(new Array(5).fill('low'));
  expect(['1501', '99999999'].map(read)).toEqual(['high', 'high']);
  expect(['', ' ', '–'].map(read)).toEqual([null, null, null]);
});
