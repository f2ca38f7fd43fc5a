import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldOf, type Held } from '../../../tests/held';
import { Contents } from '../../ledger/contents';
import { Depths } from './depths';
import { plainTree } from './plain';
import { NO_NODE, Place, Trie } from './trie';

/** Contents, each behind an older one or none; blocks that hold some of them. */
const states = fc.integer({ min: 1, max: 40 }).chain((contents) =>
  fc.record({
    parents: fc
      .array(fc.nat(), { minLength: contents, maxLength: contents })
      .map((picks) =>
        picks.map((pick, content) => (pick % (content + 1) === content ? null : pick % (content + 1))),
      ),
    held: fc.array(
      fc.option(fc.record({ content: fc.nat(contents - 1), count: fc.nat(3), hits: fc.nat(9) }), {
        nil: null,
      }),
      { minLength: 1, maxLength: 50 },
    ),
  }),
);

/** The same, found by looking at everything for each. */
function plainly(parents: readonly (number | null)[], held: readonly (Held | null)[]): unknown[] {
  const blocksOf = (content: number): number[] =>
    held.flatMap((each, block) => (each?.content === content ? [block] : []));
  const chain = (content: number): number[] => {
    const parent = parents[content]!;
    return parent === null ? [content] : [...chain(parent), content];
  };
  const isHeld = (content: number): boolean => blocksOf(content).length > 0;
  const all = parents.map((_, content) => content).filter(isHeld);
  return all.map((content) => {
    const parent = parents[content] ?? null;
    const below = all.filter((other) => {
      const way = chain(other);
      return way.includes(content) && way.slice(way.indexOf(content)).every(isHeld);
    });
    return {
      content,
      parent: parent !== null && isHeld(parent) ? parent : null,
      depth: chain(content).length,
      reachable: chain(content).every(isHeld),
      blocks: blocksOf(content),
      hits: blocksOf(content).reduce((sum, block) => sum + held[block]!.hits!, 0),
      below: below.reduce((sum, other) => sum + blocksOf(other).length, 0),
    };
  });
}

test('a trie is what the blocks hold, each content beneath the one that it follows', () => {
  fc.assert(
    fc.property(states, ({ parents, held }) => {
      expect(plainTree(foldOf(parents, held))).toEqual(plainly(parents, held));
    }),
  );
});

test('a trie that is built again of another state says nothing of the one before', () => {
  fc.assert(
    fc.property(states, states, (before, after) => {
      const size = Math.max(before.held.length, after.held.length);
      const fill = (held: readonly (Held | null)[]) => [
        ...held,
        ...new Array<null>(size - held.length).fill(null),
      ];
      const again = new Trie(size);
      again.build(foldOf(before.parents, fill(before.held)));
      const last = foldOf(after.parents, fill(after.held));
      // What contents follow never changes in a session: only their blocks do.
      const once = new Trie(size);
      once.build(last);
      const other = new Trie(size);
      other.build(foldOf(after.parents, fill(after.held).reverse()));
      other.build(last);
      for (const name of [
        'content',
        'parent',
        'firstChild',
        'nextSibling',
        'copies',
        'depth',
        'blocksBelow',
      ] as const)
        expect(other[name].subarray(0, other.size)).toEqual(once[name].subarray(0, once.size));
      expect([other.size, other.blocks, other.unreachable]).toEqual([
        once.size,
        once.blocks,
        once.unreachable,
      ]);
      expect(Array.from(other.roots)).toEqual(Array.from(once.roots));
    }),
  );
});

test('what a content follows may be gone, or not be known: both are told, and cannot be hit', () => {
  const fold = foldOf([null, 0, 1, null], [{ content: 2 }, { content: 3, count: 1 }, { content: 4 }]);
  fold.contents.next = 5;
  const trie = new Trie(3);
  trie.build(fold);
  expect(Array.from(trie.place.subarray(0, 3))).toEqual([Place.gone, Place.here, Place.unknown]);
  expect(Array.from(trie.reachable.subarray(0, 3))).toEqual([0, 1, 0]);
  expect([trie.unreachable, trie.unknown]).toEqual([2, 1]);
  expect(Array.from(trie.depth.subarray(0, 3))).toEqual([3, 1, 0]);
  expect(trie.nodeOf(1)).toBe(NO_NODE);
});

test('a content that follows itself or a younger one, which no engine tells, hangs no page', () => {
  const fold = foldOf([1, 0, 2], [{ content: 0 }, { content: 1 }, { content: 2 }]);
  const trie = new Trie(3);
  trie.build(fold);
  expect(trie.unknown).toBe(2);
  expect(new Depths().of(2, new Contents())).toBe(0);
});

test('a run goes as long as one content follows, from any of its nodes', () => {
  //  0 ─ 1 ─ 2 ┬ 3 ─ 4
  //            └ 5
  const trie = new Trie(6);
  trie.build(
    foldOf(
      [null, 0, 1, 2, 3, 2],
      [0, 1, 2, 3, 4, 5].map((content) => ({ content })),
    ),
  );
  expect([0, 1, 2, 3, 4, 5].map((node) => trie.headOf(node))).toEqual([0, 0, 0, 3, 3, 5]);
  expect([0, 3, 5].map((node) => trie.endOf(node))).toEqual([2, 4, 5]);
});
