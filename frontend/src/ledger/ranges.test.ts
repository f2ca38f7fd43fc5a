import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Ranges } from './ranges';

const parts = fc.array(fc.tuple(fc.nat(30), fc.nat(4)), { maxLength: 20 });

test('ranges are the runs of the numbers that were entered, in whatever order and however they overlap', () => {
  fc.assert(
    fc.property(parts, fc.nat(34), fc.nat(34), (entered, a, b) => {
      const ranges = new Ranges();
      const numbers = new Set<number>();
      for (const [first, more] of entered) {
        ranges.add(first, first + more);
        for (let i = first; i <= first + more; i++) numbers.add(i);
      }
      const runs: { first: number; last: number }[] = [];
      for (const number of [...numbers].sort((x, y) => x - y)) {
        const run = runs.at(-1);
        if (run !== undefined && run.last === number - 1) run.last = number;
        else runs.push({ first: number, last: number });
      }
      expect(ranges.list).toEqual(runs);
      const wanted = Array.from({ length: Math.max(0, b - a) }, (_, i) => a + 1 + i);
      expect(ranges.holds(a, b)).toBe(wanted.every((number) => numbers.has(number)));
    }),
  );
});

test('of ranges only what lies in others is kept', () => {
  fc.assert(
    fc.property(parts, parts, (one, two) => {
      const [ranges, others] = [one, two].map((entered) => {
        const made = new Ranges();
        for (const [first, more] of entered) made.add(first, first + more);
        return made;
      }) as [Ranges, Ranges];
      const before = Array.from({ length: 40 }, (_, number) => ranges.has(number));
      ranges.keep(others.list);
      expect(before.map((had, number) => had && others.has(number))).toEqual(
        before.map((_, number) => ranges.has(number)),
      );
    }),
  );
});
