import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Blocks } from '../../ledger/blocks';
import { runAt, runsAnswer } from './runs';

test('free runs are what lies between blocks in use, by address', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 50 }), fc.nat(10), (used, k) => {
      const blocks = new Blocks(used.length);
      used.forEach((each, b) => {
        blocks.count[b] = each ? 1 : 0;
      });
      blocks.tally[0] = used.filter((each) => !each).length;
      const drawn = used.map((each) => (each ? '#' : '.')).join('');
      const expected = [...drawn.matchAll(/\.+/g)].map((found) => ({
        first: found.index,
        last: found.index + found[0].length - 1,
      }));
      const answer = runsAnswer(blocks, k);
      expect(answer.runs).toEqual(expected.slice(0, k));
      expect(answer.count).toBe(expected.length);
      expect(answer.free).toBe(blocks.tally[0]);
      const longest = Math.max(0, ...expected.map((run) => run.last - run.first + 1));
      // Of equal ones the first.
      expect(answer.largest).toEqual(expected.find((run) => run.last - run.first + 1 === longest) ?? null);
      used.forEach((each, b) => {
        const own = expected.find((run) => run.first <= b && b <= run.last) ?? null;
        expect(runAt(blocks, b)).toEqual(each ? null : own);
      });
    }),
  );
});
