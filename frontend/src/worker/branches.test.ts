import fc from 'fast-check';
import { expect, test } from 'vitest';
import { branchesOf } from './branches';

/** Sequence → the one that it was forked from. */
const PARENTS = [null, 0, 0, 1, 1, 4];
const parentOf = (sequence: number): number | null => PARENTS[sequence] ?? null;

test('who has ended is passed over, and stands for a level where branches part', () => {
  expect(branchesOf([2, 3, 5], parentOf)).toEqual([
    { sequence: 3, depth: 2, lines: [false, true, true] },
    { sequence: 5, depth: 2, lines: [false, true, false] },
    { sequence: 2, depth: 1, lines: [false, false] },
  ]);
});

test('a parent that lives stands before its children, a level above them', () => {
  expect(branchesOf([0, 1, 2], parentOf).map(({ sequence, depth }) => [sequence, depth])).toEqual([
    [0, 0],
    [1, 1],
    [2, 1],
  ]);
});

test('everyone that lives is there once, below those that it was forked from', () => {
  const forest = fc.array(fc.nat(), { minLength: 1, maxLength: 40 }).map((seeds) =>
    // Of each, one of those before it, or nobody.
    seeds.map((seed, i) => (i === 0 || seed % 7 === 0 ? null : seed % i)),
  );
  fc.assert(
    fc.property(forest, fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (parents, lives) => {
      const living = parents.map((_, i) => i).filter((i) => lives[i]);
      const found = branchesOf(living, (i) => parents[i] ?? null);
      expect(found.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(living);
      const at = new Map(found.map((branch, i) => [branch.sequence, { ...branch, i }]));
      for (const each of living) {
        for (let above = parents[each] ?? null; above !== null; above = parents[above] ?? null) {
          const branch = at.get(above);
          if (branch === undefined) continue;
          expect(branch.i).toBeLessThan(at.get(each)!.i);
          expect(branch.depth).toBeLessThan(at.get(each)!.depth);
        }
      }
    }),
  );
});
