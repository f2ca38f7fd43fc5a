import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Packer } from '../worker/word';
import { NOT_QUEUED } from './blockColumns';
import { Blocks } from './blocks';
import { blockRows } from './digest';
import { NONE } from './generated/constants';
import { LARGE } from './kernels';

const BLOCK_SIZE = 24;
const bytes = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer);

/** Where two columns differ first; -1: nowhere. (To compare them one by one is what a test framework is slow at.) */
function difference(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (found.length !== expected.length) return Math.min(found.length, expected.length);
  for (let i = 0; i < found.length; i++) if (!Object.is(found[i], expected[i])) return i;
  return -1;
}

/** Columns as a keyframe has them, of lawful and of unlawful values. */
function columns(size: number, seed: number) {
  let state = seed;
  const dice = (sides: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * sides);
  };
  const column = (value: () => number): Uint8Array => bytes(Uint32Array.from({ length: size }, value));
  return {
    generation: column(() => dice(2 ** 24) * 256 + dice(256)),
    count: column(() => (dice(9) === 0 ? dice(3000) : dice(4))),
    content: column(() => (dice(2) === 0 ? NONE : dice(2 ** 24))),
    filled: column(() => dice(BLOCK_SIZE + 3)),
    ticket: bytes(
      Int32Array.from({ length: size }, () => (dice(3) === 0 ? NOT_QUEUED : dice(2 ** 24) - 9000)),
    ),
  };
}

test('a large pool has the digest values, classes and words that its blocks have one by one', () => {
  const size = fc.integer({ min: LARGE, max: LARGE + 7 });
  fc.assert(
    fc.property(size, fc.integer(), (n, seed) => {
      const told = columns(n, seed);
      const blocks = new Blocks(n);
      expect(blocks.kernels).not.toBeNull();
      blocks.load(told);

      const tickets = new Int32Array(told.ticket.buffer);
      const ticket = Float64Array.from(tickets, (each) => (each === NOT_QUEUED ? Number.NaN : each));
      expect(difference(blocks.ticket, ticket)).toBe(-1);
      const [rowA, rowB] = [new Int32Array(n), new Int32Array(n)];
      expect([blocks.sumA, blocks.sumB]).toEqual(blockRows(blocks, rowA, rowB));
      expect(difference(blocks.rowA, rowA)).toBe(-1);
      expect(difference(blocks.rowB, rowB)).toBe(-1);

      const { count, content } = blocks;
      const kinds = count.map((held, b) => (held > 0 ? Math.min(held, 2) + 1 : content[b] === NONE ? 0 : 1));
      expect(difference(blocks.kind, kinds)).toBe(-1);
      const tally = [0, 0, 0, 0];
      for (const kind of kinds) tally[kind]!++;
      expect([...blocks.tally]).toEqual(tally);

      const packer = new Packer(BLOCK_SIZE);
      const [words, changed] = [new Uint32Array(n), new Uint32Array(n)];
      const expected = words.map((_, b) => packer.word(blocks, b));
      // Most of them differ: they are told to, and not listed.
      const most = expected.filter((word) => word !== 0).length;
      expect(packer.update(blocks, words, changed)).toBeGreaterThanOrEqual(most);
      expect(difference(words, expected)).toBe(-1);
      expect(packer.update(blocks, words, changed)).toBe(0);
      const few = [...words.keys()].filter((b) => b % 37 === 5 || b === n - 1);
      for (const b of few) words[b]! ^= 1 << 30;
      const found = packer.update(blocks, words, changed);
      expect(difference(words, expected)).toBe(-1);
      expect(difference(changed.subarray(0, found), few)).toBe(-1);
    }),
    { numRuns: 5 },
  );
});

test('how full a block is has the bits that its number of tokens gives, whatever the block size', () => {
  const blocks = new Blocks(LARGE);
  for (let size = 1; size <= 256; size++) {
    for (let b = 0; b <= size + 1; b++) blocks.filled[b] = b;
    const packer = new Packer(size);
    const words = Array.from({ length: size + 2 }, (_, b) => packer.word(blocks, b));
    expect(Array.from(blocks.kernels!.words(size).subarray(0, size + 2))).toEqual(words);
  }
});
