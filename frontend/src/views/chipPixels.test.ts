import { expect, test } from 'vitest';
import { inked } from './chipPixels';

test('a pixel that is covered wholly is the ink, one that is not covered stays, and half of it is between', () => {
  expect(inked(0xff102030, 0x908070, 255).toString(16)).toBe('ff908070');
  expect(inked(0xff102030, 0x908070, 0).toString(16)).toBe('ff102030');
  expect(inked(0xff102030, 0x908070, 128).toString(16)).toBe('ff515050');
});

test('where nothing is, the ink is as clear as it covers', () => {
  expect(inked(0, 0x908070, 100).toString(16)).toBe('64908070');
});
