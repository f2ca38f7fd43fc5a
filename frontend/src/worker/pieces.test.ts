import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOf, join, LOST, partsOf } from './pieces';

const hex = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;

describe('tokens joined to text', () => {
  test('give back any text whose bytes are its tokens, however its characters are cut', () => {
    const pieces = new Map(
      Array.from({ length: 256 }, (_, byte) => [byte, byte < 128 ? String.fromCharCode(byte) : hex(byte)]),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
        const spans = join(new TextEncoder().encode(text), pieces);
        // A lone surrogate has no bytes: the encoder writes U+FFFD for it.
        expect(spans).toEqual([{ text: new TextDecoder().decode(new TextEncoder().encode(text)) }]);
      }),
    );
  });

  test('a piece of several bytes and text beside it belong to one text, and what is no character is U+FFFD', () => {
    const pieces = new Map([
      [1, 'caf'],
      [2, '<0xC3>'],
      [3, '<0xA9>'],
      [4, '<0xF0><0x9F>'],
      [5, '<0x99><0x82>'],
      [6, ' end'],
    ]);
    expect(join([1, 2, 3, 6], pieces)).toEqual([{ text: 'café end' }]);
    expect(join([4, 5], pieces)).toEqual([{ text: '🙂' }]);
    expect(join([1, 2, 6], pieces)).toEqual([{ text: 'caf\ufffd end' }]);
  });

  test('a character of which a part is here is held back while the text goes on, and shown when it has ended', () => {
    const pieces = new Map([
      [1, 'caf'],
      [2, '<0xC3>'],
      [3, '<0xA9>'],
      [4, '<0xF0><0x9F>'],
      [5, '<0xC3><0x28>'],
    ]);
    expect(join([1, 2], pieces, true)).toEqual([{ text: 'caf' }]);
    expect(join([1, 2], pieces)).toEqual([{ text: 'caf\ufffd' }]);
    expect(join([1, 2, 3], pieces, true)).toEqual([{ text: 'café' }]);
    expect(join([2, 3, 4], pieces, true)).toEqual([{ text: 'é' }]);
    // What can't become a character any more is shown at once.
    expect(join([1, 5], pieces, true)).toEqual([{ text: 'caf\ufffd(' }]);
  });

  test('a text that looks like a byte, cut into other tokens, stays what it is', () => {
    const pieces = new Map([...'<0xE2>'].map((character, i) => [i, character]));
    expect(join([0, 1, 2, 3, 4, 5], pieces)).toEqual([{ text: '<0xE2>' }]);
    expect(bytesOf('<0xE2> ')).toBeNull();
    expect(bytesOf('<0xE2><0x82>')).toEqual([0xe2, 0x82]);
  });

  test('tokens without text keep their ids, and lost ones are counted', () => {
    const pieces = new Map([
      [1, 'a'],
      [2, ''],
    ]);
    expect(join([1, 2, 77, 1, LOST, LOST, 1], pieces)).toEqual([
      { text: 'a' },
      { ids: [2, 77] },
      { text: 'a' },
      { missing: 2 },
      { text: 'a' },
    ]);
    expect(join([], pieces)).toEqual([]);
  });
});

test('a text is cut where its tokens begin, and a character of several tokens is one part', () => {
  const pieces = [' a', '<0xC3>', '<0xA9>', null, 'b', '', '<0xF0>'];
  const parts = [
    { text: ' a', from: 0, count: 1 },
    { text: 'é', from: 1, count: 2 },
    { text: null, from: 3, count: 1 },
    { text: 'b', from: 4, count: 1 },
    { text: null, from: 5, count: 1 },
  ];
  // The last character goes on in the next block.
  expect(partsOf(pieces, true)).toEqual(parts);
  expect(partsOf(pieces, false)).toEqual([...parts, { text: '\ufffd', from: 6, count: 1 }]);
  expect(partsOf([], true)).toEqual([]);
});
