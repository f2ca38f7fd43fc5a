import { describe, expect, test } from 'vitest';
import { NOT_QUEUED, ticketColumn, wordColumn } from './blockColumns';
import { Blocks } from './blocks';

const bytes = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer);

describe('columns of blocks', () => {
  test('a column is read in each width, wherever its bytes begin', () => {
    for (const column of [Uint8Array.of(1, 2, 3), Uint16Array.of(1, 2, 3), Uint32Array.of(1, 2, 3)]) {
      const shifted = new Uint8Array(column.byteLength + 1);
      shifted.set(bytes(column), 1);
      expect([...wordColumn(shifted.subarray(1), 3, 'count')!]).toEqual([1, 2, 3]);
    }
    expect(wordColumn(undefined, 3, 'count')).toBeNull();
  });

  test('a narrow ticket has a word for blocks that are not queued', () => {
    const blocks = new Blocks(3);
    blocks.load({ ticket: bytes(Int32Array.of(-5, NOT_QUEUED, 7)) });
    expect([...blocks.ticket]).toEqual([-5, Number.NaN, 7]);
    const wide = new Blocks(3);
    wide.load({ ticket: bytes(Float64Array.of(-5, Number.NaN, 7)) });
    expect([wide.sumA, wide.sumB]).toEqual([blocks.sumA, blocks.sumB]);
  });

  test('another length is refused with what is lawful', () => {
    expect(() => wordColumn(new Uint8Array(9), 3, 'count')).toThrow(
      "keyframe column 'count' has 9 bytes, 3 blocks have 3, 6, 12",
    );
    expect(() => ticketColumn(new Uint8Array(6), 3)).toThrow('3 blocks have 12, 24');
  });
});
