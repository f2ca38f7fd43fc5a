import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import { Fold } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import { blocksIn, countIn, RectangleCount } from './rectangle';
import { EDGES } from './shades';

const SIZE = 40;
const BY_NUMBER = { blockAt: null, orderVersion: 0 };
const corners = fc.record({ from: fc.nat(60), to: fc.nat(60), columns: fc.integer({ min: 1, max: 45 }) });

test('a rectangle has the blocks between its corners, whichever they are, and none that the pool has not', () => {
  expect([...blocksIn({ from: 18, to: 9, columns: 7 }, SIZE, null)]).toEqual([9, 10, 11, 16, 17, 18]);
  fc.assert(
    fc.property(corners, ({ from, to, columns }) => {
      const between = (at: number, a: number, b: number): boolean =>
        at >= Math.min(a, b) && at <= Math.max(a, b);
      const row = (cell: number): number => Math.floor(cell / columns);
      const expected = [...new Array(SIZE).keys()].filter(
        (b) => between(b % columns, from % columns, to % columns) && between(row(b), row(from), row(to)),
      );
      expect([...blocksIn({ from, to, columns }, SIZE, null)]).toEqual(expected);
    }),
  );
});

test('where blocks lie in another order, a rectangle has those that lie in its cells', () => {
  const blockAt = Uint32Array.from({ length: SIZE }, (_, cell) => SIZE - 1 - cell);
  expect([...blocksIn({ from: 18, to: 9, columns: 7 }, SIZE, blockAt)]).toEqual([30, 29, 28, 23, 22, 21]);
});

test('corners far outside of the pool ask for no more than there is', () => {
  expect(blocksIn({ from: 0, to: 9_999_999_999, columns: 1 }, SIZE, null)).toHaveLength(SIZE);
  expect(blocksIn({ from: 5_000_000_000, to: 9_999_999_999, columns: 3 }, SIZE, null)).toHaveLength(0);
});

test('what is told of a rectangle is what its blocks are, one by one', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(39), corners, (seed, last, rectangle) => {
      const fold = new Fold(SIZE, 4);
      for (const record of recording(SIZE, 4, seed, 40).records) {
        if (record.type === 'step' && record.step > last) break;
        fold.apply(record);
      }
      const { count, content, filled, hits } = fold.blocks;
      const blocks = [...blocksIn(rectangle, SIZE, null)];
      const told = countIn(fold, rectangle, Uint32Array.from(blocks));
      const many = (meets: (block: number) => boolean): number => blocks.filter(meets).length;
      const sum = (column: Uint32Array): number => blocks.reduce((all, b) => all + column[b]!, 0);
      expect(told.states).toEqual([
        many((b) => count[b] === 0 && content[b] === NONE),
        many((b) => count[b] === 0 && content[b] !== NONE),
        many((b) => count[b] === 1),
        many((b) => count[b]! > 1),
      ]);
      expect(told.refs).toEqual(
        [0, ...EDGES.refs].map((edge, part) =>
          many((b) => count[b]! >= edge && count[b]! < (EDGES.refs[part] ?? Number.POSITIVE_INFINITY)),
        ),
      );
      expect([told.blocks, told.slots, told.filled]).toEqual([blocks.length, 4 * blocks.length, sum(filled)]);
      expect([told.contents, told.hits]).toEqual([many((b) => content[b] !== NONE), sum(hits)]);
      const holds = (request: number, block: number): boolean =>
        [...fold.tables.map.values()].some(
          ({ sequence, blocks: held, end }) =>
            fold.requests.memory.requestOf(sequence) === request && held.subarray(0, end).includes(block),
        );
      const requests = [...fold.requests.rows.keys()]
        .map((request) => ({ request, blocks: many((b) => holds(request, b)) }))
        .filter((each) => each.blocks > 0)
        .sort((a, b) => b.blocks - a.blocks || a.request - b.request);
      expect(told.requests.map(({ request, blocks: held }) => ({ request, blocks: held }))).toEqual(requests);
    }),
    { numRuns: 8 },
  );
});

test('a rectangle is counted once for each state, and again for each other one', () => {
  const made = recording(SIZE, 4, 1, 20);
  const fold = new Fold(SIZE, 4);
  const rectangle = { from: 0, to: 9, columns: 10 };
  const counted = new RectangleCount();
  expect(counted.due(fold, rectangle, 0, 0)).toBe(null);
  fold.apply(made.records[0]!);
  expect(counted.due(fold, null, 0, 0)).toBe(null);
  expect(counted.due(fold, rectangle, 0, 0)).toBe(0);
  expect(counted.answer(fold, rectangle, BY_NUMBER, 0)?.blocks).toBe(10);
  expect(counted.answer(fold, rectangle, BY_NUMBER, 0)).toBe(null);
  fold.apply(made.records[1]!);
  expect(counted.due(fold, rectangle, 0, performance.now())).not.toBe(null);
  expect(counted.due(fold, { ...rectangle, to: 19 }, 0, performance.now())).not.toBe(null);
});
