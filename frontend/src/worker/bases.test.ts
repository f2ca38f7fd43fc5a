import { expect, test } from 'vitest';
import type { Keyframe } from '../ledger/generated/types';
import { Bases } from './bases';

const keyframe = (record: number, bytes = 100): Keyframe =>
  ({ type: 'keyframe', record, blocks: { count: new Uint8Array(bytes).fill(record) } }) as Keyframe;

function kept(bases: Bases): number[] {
  const found: number[] = [];
  for (let base = bases.before(1e9); base !== null; base = bases.before(base.record - 1))
    found.unshift(base.record);
  return found;
}

test('the last base at or before a record is found, however they came', () => {
  const bases = new Bases(1000);
  for (const record of [50, 10, 90, 50]) bases.add(keyframe(record));
  expect(kept(bases)).toEqual([10, 50, 90]);
  expect([9, 10, 49, 50, 1000].map((record) => bases.before(record)?.record)).toEqual([
    undefined,
    10,
    10,
    50,
    90,
  ]);
  expect(bases.before(60)?.columns.count?.[0]).toBe(50);
  expect(bases.before(Number.NaN)).toBeNull();
});

test('what is kept is a copy: the answer that it came in can go', () => {
  const bases = new Bases(1000);
  const answer = new Uint8Array(5000).fill(3);
  bases.add({ ...keyframe(5), blocks: { count: answer.subarray(7, 107) } });
  answer.fill(9);
  const column = bases.before(5)!.columns.count!;
  expect([column[0], column.buffer.byteLength, bases.bytes]).toEqual([3, 100, 100]);
});

test('when there is no room, the one closest behind another goes', () => {
  const bases = new Bases(450);
  for (const record of [0, 100, 130, 300]) bases.add(keyframe(record));
  bases.add(keyframe(200));
  expect(kept(bases)).toEqual([0, 100, 200, 300]);
  bases.add(keyframe(210));
  expect(kept(bases)).toEqual([0, 100, 200, 300]);
  bases.add(keyframe(400, 250));
  expect(kept(bases)).toEqual([0, 200, 400]);
  expect(bases.bytes).toBe(450);
  bases.add(keyframe(500, 451));
  expect(bases.count).toBe(3);
});

test('with no room at all nothing is kept, not even what has no columns', () => {
  const bases = new Bases(0);
  bases.add({ ...keyframe(1), blocks: {} });
  expect([bases.isKept, bases.count]).toEqual([false, 0]);
});

test('what comes after the end of a session that was cut is forgotten', () => {
  const bases = new Bases(1000);
  for (const record of [10, 50, 90]) bases.add(keyframe(record));
  bases.truncate(50);
  expect(kept(bases)).toEqual([10, 50]);
  expect(bases.bytes).toBe(200);
});
