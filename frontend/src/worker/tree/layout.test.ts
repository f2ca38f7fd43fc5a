import { expect, test } from 'vitest';
import { foldOf, type Held } from '../../../tests/held';
import { BLOCK, Layout, type Opened, type Sort, wayTo } from './layout';
import { Trie } from './trie';

const CLOSED: Opened = { open: [], deep: [], closed: [], unrolled: [] };

/**
 *     0 ─ 1 ┬ 2 ─ 3          4 ─ 5: what 6 and 7 follow was evicted
 *           └ 8 (twice)        6 ─ 7
 */
const PARENTS = [null, 0, 1, 2, null, 4, 5, 6, 1];
const HELD: Held[] = [
  { content: 0, count: 2, hits: 3 },
  { content: 1, count: 1, hits: 1 },
  { content: 2, ticket: 50 },
  { content: 3, ticket: 40 },
  { content: 4, ticket: 60, hits: 9 },
  { content: 6, ticket: 10 },
  { content: 7, ticket: 9 },
  { content: 8, ticket: 70 },
  { content: 8, ticket: 71 },
];

function trieOf(parents: readonly (number | null)[] = PARENTS, held: readonly Held[] = HELD): Trie {
  const trie = new Trie(held.length);
  trie.build(foldOf(parents, held));
  return trie;
}

/** Rows as "level content", blocks of unrolled runs in brackets. */
function rows(
  trie: Trie,
  opened: Partial<Opened>,
  sort: Sort = 'blocks',
  only: number[] | null = null,
): string[] {
  const tops = only === null ? null : new Set(only);
  const layout = Layout.of(trie, { ...CLOSED, ...opened }, sort, tops, new Set());
  return Array.from({ length: layout.length }, (_, row) => {
    const content = trie.content[layout.node[row]!]!;
    return `${layout.level[row]} ${layout.kind[row] === BLOCK ? `[${content}]` : content}`;
  });
}

test('a run is one row, what follows it is beneath; what cannot be hit comes last', () => {
  const trie = trieOf();
  expect(rows(trie, {})).toEqual(['0 0', '0 4', '0 6']);
  expect(rows(trie, { open: [0] })).toEqual(['0 0', '1 2', '1 8', '0 4', '0 6']);
  expect(rows(trie, { unrolled: [0, 6] })).toEqual(['0 0', '1 [0]', '1 [1]', '0 4', '0 6', '1 [6]', '1 [7]']);
});

test('each order puts the most first', () => {
  const trie = trieOf();
  expect(rows(trie, { open: [0] }, 'hits')).toEqual(['0 4', '0 0', '1 2', '1 8', '0 6']);
  expect(rows(trie, { open: [0] }, 'tokens')).toEqual(['0 0', '1 2', '1 8', '0 4', '0 6']);
  // In use first, then what was freed last.
  expect(rows(trie, { open: [0] }, 'recency')).toEqual(['0 0', '1 8', '1 2', '0 4', '0 6']);
});

test('a row opened with all below it is open to the ends, but where it was closed', () => {
  const parents = [null, 0, 0, 1, 1, 3, 3];
  const trie = trieOf(
    parents,
    parents.map((_, content) => ({ content })),
  );
  expect(rows(trie, { deep: [0] })).toEqual(['0 0', '1 1', '2 3', '3 5', '3 6', '2 4', '1 2']);
  expect(rows(trie, { deep: [0], closed: [1] })).toEqual(['0 0', '1 1', '1 2']);
  // One row at the top says nothing as long as it is closed.
  expect(rows(trie, {})).toEqual(['0 0', '1 1', '1 2']);
  expect(rows(trie, { closed: [0] })).toEqual(['0 0']);
});

test('a run that a new branch cuts in two stays open', () => {
  const chain = [null, 0, 1, 2, 2];
  const before = trieOf(
    [...chain, null],
    [...chain, null].map((_, content) => ({ content })),
  );
  const opened = { open: [0, 2] };
  expect(rows(before, opened)).toEqual(['0 0', '1 3', '1 4', '0 5']);
  const cut = [...chain, null, 0];
  const after = trieOf(
    cut,
    cut.map((_, content) => ({ content })),
  );
  expect(rows(after, opened)).toEqual(['0 0', '1 1', '2 3', '2 4', '1 6', '0 5']);
});

test('a row knows its place beneath the one above, and the way to a node is the runs above its own', () => {
  const trie = trieOf();
  const layout = Layout.of(trie, { ...CLOSED, open: [0] }, 'blocks', null, new Set());
  expect(Array.from(layout.up.subarray(0, layout.length))).toEqual([0, 1, 1, 0, 0]);
  expect(Array.from(layout.placeInSet.subarray(0, layout.length))).toEqual([1, 1, 2, 2, 3]);
  expect(Array.from(layout.setSize.subarray(0, layout.length))).toEqual([3, 2, 2, 3, 3]);
  const node = trie.nodeOf(3);
  expect(wayTo(trie, node)).toEqual([0]);
  expect(layout.rowOf(node)).toBe(1);
  expect(Layout.of(trie, CLOSED, 'blocks', null, new Set()).rowOf(node)).toBeNull();
  const unrolled = Layout.of(trie, { ...CLOSED, open: [0], unrolled: [2] }, 'blocks', null, new Set());
  expect(unrolled.rowOf(node)).toBe(3);
});
