import { expect, test } from 'vitest';
import { bytes, clock, duration, integer, percent, short, span } from './format';

const plain = (shown: string): string => shown.replaceAll('\u202f', ' ');

test('numbers as a reader sees them', () => {
  expect([0, 999, 1000, 4812, 1_000_000, -1234].map((value) => plain(integer(value)))).toEqual([
    '0',
    '999',
    '1 000',
    '4 812',
    '1 000 000',
    '−1 234',
  ]);
  expect([1904, 18_300, 2_410_000].map((value) => plain(short(value)))).toEqual([
    '1 904',
    '18.3 k',
    '2.41 M',
  ]);
  expect(plain(percent(213, 512))).toBe('41.6 %');
  expect(percent(1, 0)).toBe('–');
  expect([512, 3_250_586, 2 ** 31].map(bytes)).toEqual(['512 B', '3.10 MiB', '2.00 GiB']);
});

test('times as a reader sees them', () => {
  expect([1500, 2_500_000, 3e9].map(duration)).toEqual(['1.50 µs', '2.50 ms', '3.00 s']);
  expect(clock(3_723_004e6)).toBe('1:02:03.004');
  expect([4e9, 200e9, 7500e9].map(span)).toEqual(['4 s', '3 min 20 s', '2 h 5 min']);
});
