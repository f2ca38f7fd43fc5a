import fc from 'fast-check';
import { expect, test } from 'vitest';
import { History } from './history';

test('ranges are the runs of records that were added, in whatever order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { maxLength: 40 }), (records) => {
      const history = new History();
      for (const record of records) history.add(record, new Uint8Array(1));
      const sorted = [...new Set(records)].sort((a, b) => a - b);
      const runs: { first: number; last: number }[] = [];
      for (const record of sorted) {
        const last = runs.at(-1);
        if (last !== undefined && last.last === record - 1) last.last = record;
        else runs.push({ first: record, last: record });
      }
      expect(history.ranges).toEqual(runs);
      for (let from = 0; from < 40; from++) {
        const to = from + 3;
        const all = [from + 1, from + 2, from + 3].every((record) => sorted.includes(record));
        expect(history.holds(from, to)).toBe(all);
      }
    }),
  );
});

test('the memory is bounded, and what lies near the reader and the live end stays', () => {
  const history = new History({ frameBytes: 1000, snapshotBytes: 1, baseBytes: 0 });
  history.focus = 300;
  for (let record = 0; record < 600; record++) {
    history.head = record;
    history.add(record, new Uint8Array(10));
    expect(history.bytes).toBeLessThanOrEqual(1000);
  }
  expect(history.get(300)).toBeDefined();
  expect(history.get(599)).toBeDefined();
  expect(history.get(0)).toBeUndefined();
});

test('what comes after a record is forgotten, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { maxLength: 40 }), fc.nat(40), (records, last) => {
      const history = new History();
      for (const record of records) history.add(record, new Uint8Array(1));
      history.truncate(last);
      const kept = new Set(records.filter((record) => record <= last));
      expect(history.bytes).toBe(kept.size);
      const ranges = history.ranges.flatMap(({ first, last }) =>
        Array.from({ length: last - first + 1 }, (_, i) => first + i),
      );
      expect(ranges).toEqual([...kept].sort((a, b) => a - b));
    }),
  );
});
