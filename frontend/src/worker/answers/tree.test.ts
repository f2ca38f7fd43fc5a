import { expect, test } from 'vitest';
import { foldOf, type Held } from '../../../tests/held';
import type { Fold } from '../../ledger/fold';
import { Freed } from '../freed';
import type { Texts } from '../texts';
import { Tree, type TreeWants } from '../tree/tree';
import { rankInQueue } from './queue';
import { type TreeAnswer, treeAnswer } from './tree';

const ALL: TreeWants = {
  open: [],
  deep: [],
  closed: [],
  unrolled: [],
  from: 0,
  to: 100,
  sort: 'blocks',
  find: '',
};

/** Texts of which nothing is recorded, and a count of how often one was asked for. */
function noTexts(): { texts: Texts; asked: Set<number> } {
  const asked = new Set<number>();
  const texts = {
    pieces: new Map<number, string>(),
    wantPieces: () => {},
    content: (content: number) => {
      asked.add(content);
      return null;
    },
  };
  return { texts: texts as unknown as Texts, asked };
}

function answerOf(fold: Fold, wants: Partial<TreeWants>, selected: number | null = null) {
  const { texts, asked } = noTexts();
  const tree = new Tree(fold, texts);
  const wanted = { ...ALL, ...wants };
  tree.update(fold, wanted, 0);
  const answer = treeAnswer(fold, tree, wanted, selected, { texts, freed: new Freed(), fault: null });
  return { answer, asked };
}

/** A content behind each of `tops` in turn, `each` deep, in a block of its own. */
function deepFold(tops: number, each: number): Fold {
  const parents: (number | null)[] = [];
  for (let depth = 0; depth < each; depth++)
    for (let top = 0; top < tops; top++) parents.push(depth === 0 ? null : (depth - 1) * tops + top);
  // Two branches at the end, so that there is something to open.
  for (let top = 0; top < tops; top++) parents.push((each - 1) * tops + top, (each - 1) * tops + top);
  return foldOf(
    parents,
    parents.map((_, content) => ({ content })),
  );
}

test('of 10,000 nodes only the rows in sight are made, and only their texts are asked for', () => {
  const fold = deepFold(1000, 8);
  const { answer, asked } = answerOf(fold, { deep: [...Array(1000).keys()], from: 1500, to: 1540 });
  expect(answer.contents).toBe(10_000);
  expect(answer.total).toBe(3000);
  expect(answer.from).toBe(1500);
  expect(answer.rows.length).toBe(40);
  expect(asked.size).toBeLessThan(60);
  expect(answerOf(fold, { from: 2990, to: 5000, deep: [...Array(1000).keys()] }).answer.rows.length).toBe(10);
  expect(answerOf(fold, { from: 4000, to: 5000 }).answer.rows).toEqual([]);
});

/** 0 ─ 1 ┬ 2 and 0 ─ 1 ┴ 3, the first two in the tables of sequences 5 and 7. */
function heldFold(): Fold {
  const held: Held[] = [
    { content: 0, count: 2, hits: 4 },
    { content: 1, count: 2, hits: 2 },
    { content: 2, ticket: 30 },
    { content: 3, ticket: 10, hits: 1 },
    { content: 3, ticket: 20 },
  ];
  const fold = foldOf([null, 0, 1, 1], [...held, null]);
  fold.blocks.ticket[5] = 15;
  for (const sequence of [5, 7]) {
    fold.tables.enter(sequence, 0, 0, 0);
    fold.tables.enter(sequence, 0, 1, 1);
  }
  return fold;
}

const facts = ({ rows }: TreeAnswer, ...names: (keyof TreeAnswer['rows'][number])[]): unknown[][] =>
  rows.map((row) => names.map((name) => row[name]));

test('a row tells its blocks, who holds them, and the place in the queue of the one that goes first', () => {
  const fold = heldFold();
  const { answer } = answerOf(fold, { open: [0], unrolled: [0] });
  expect(facts(answer, 'first', 'isBlock', 'length', 'held', 'below', 'hits', 'states')).toEqual([
    [0, false, 2, 2, 5, 4, [0, 0, 2]],
    [0, true, 1, 1, 5, 4, [0, 0, 1]],
    [1, true, 1, 1, 4, 2, [0, 0, 1]],
    [3, false, 1, 2, 2, 1, [2, 0, 0]],
    [2, false, 1, 1, 1, 0, [1, 0, 0]],
  ]);
  expect(answer.rows.map((row) => Array.from(row.blocks))).toEqual([[0, 1], [0], [1], [3, 4], [2]]);
  expect(answer.rows.map((row) => row.holders.map(({ sequence }) => sequence))).toEqual([
    [5, 7],
    [5, 7],
    [5, 7],
    [],
    [],
  ]);
  const ranks = [3, 2].map((block) => rankInQueue(fold.blocks, block));
  expect(answer.rows.map((row) => row.rank)).toEqual([null, null, null, ...ranks]);
});

test('the row of the selected block is told, or what must be opened for it to be seen', () => {
  const fold = heldFold();
  expect(answerOf(fold, { closed: [0] }, 4).answer.selected).toEqual({ block: 4, row: null, way: [0] });
  expect(answerOf(fold, { open: [0] }, 4).answer.selected).toEqual({ block: 4, row: 1, way: [0] });
  expect(answerOf(fold, {}, 1).answer.selected).toEqual({ block: 1, row: 0, way: [] });
  expect(answerOf(fold, {}, 5).answer.selected).toBeNull();
  expect(answerOf(fold, {}, 99).answer.selected).toBeNull();
});

test('a tree of another state waits its turn where building one takes long, and then comes', () => {
  const fold = heldFold();
  const tree = new Tree(fold, noTexts().texts);
  expect(tree.due(fold, 0)).toBe(0);
  tree.update(fold, ALL, 0);
  expect(tree.due(fold, 0)).toBeNull();
  fold.op++;
  const now = performance.now();
  tree.cost = 100;
  const wait = tree.due(fold, now)!;
  expect(wait).toBeGreaterThan(500);
  expect(tree.due(fold, now + wait)).toBe(0);
  tree.cost = 1;
  expect(tree.due(fold, now)).toBe(0);
});
