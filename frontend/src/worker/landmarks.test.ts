import { expect, test, vi } from 'vitest';
import type { AnyRecord } from '../ledger/fold';
import { type Landmark, type LandmarkKind, Landmarks, LISTED, type ToldLandmarks } from './landmarks';
import { Series } from './series';

const counts = { evict: [2, 4, 5], copy: [3], preempted: [8] };

function found(told: readonly Landmark[]): { landmarks: Landmarks; asked: string[][] } {
  const series = new Series();
  const step = Array.from({ length: 10 }, (_, i) => i);
  const column = (at: readonly number[]): number[] => step.map((each) => (at.includes(each) ? 3 : 0));
  series.load({
    step,
    record: step.map((each) => 1 + each),
    evict: column(counts.evict),
    copy: column(counts.copy),
    preempted: column(counts.preempted),
  });
  const asked: string[][] = [];
  const landmarks = async (kinds: readonly string[]): Promise<ToldLandmarks> => {
    asked.push([...kinds]);
    return { landmarks: told, indexed_record: 9 };
  };
  return { landmarks: new Landmarks(series, { landmarks }, () => {}), asked };
}

const note: Landmark = { step: 6, record: 7, kind: 'note', count: 1, message: 'look here' };

test('the nearest landmark of a kind is found in both directions, or of any', async () => {
  const { landmarks, asked } = found([note]);
  const next = (kind: LandmarkKind | 'any', step: number) => landmarks.find(kind, step, 1);
  const previous = (kind: LandmarkKind | 'any', step: number) => landmarks.find(kind, step, -1);
  expect([await next('evict', -1), await next('evict', 2), await next('evict', 5)]).toEqual([2, 4, null]);
  expect([await previous('evict', 9), await previous('evict', 4), await previous('evict', 2)]).toEqual([
    5,
    2,
    null,
  ]);
  // What the table of steps counts is not asked for.
  expect(asked).toEqual([]);
  expect([await next('note', 0), await previous('note', 9), await next('gap', 0)]).toEqual([6, 6, null]);
  const all = [2, 3, 4, 5, 6, 8];
  for (let step = -1; step < 10; step++) {
    expect(await next('any', step)).toBe(all.find((each) => each > step) ?? null);
    expect(await previous('any', step)).toBe(all.findLast((each) => each < step) ?? null);
  }
  // The list is taken as fresh for a while.
  expect(asked).toEqual([[...LISTED]]);
});

test('what comes at the live end is a landmark at once, and once', async () => {
  const { landmarks } = found([note]);
  const refused = { kind: 'refused', op: 0, request: 1, message: 'too long' };
  const step = { type: 'step', record: 9, step: 8, decisions: [refused, refused] } as unknown as AnyRecord;
  const gap = { type: 'gap', record: 12, first: 10, last: 11, reason: 'lost', time: 0 } as AnyRecord;
  landmarks.note(step, 8);
  landmarks.note(gap, 8);
  landmarks.note({ type: 'note', record: 7, time: 0, text: 'look here' } as AnyRecord, 6);
  await landmarks.load();
  const shown = landmarks.between(0, 10).map(({ kind, step, count }) => [kind, step, count]);
  expect(shown).toEqual([
    ['note', 6, 1],
    ['refused', 8, 2],
    ['gap', 8, 2],
  ]);
  landmarks.truncate(7);
  expect(landmarks.between(0, 10)).toEqual([note]);
});

test('what was before this page and not indexed yet is asked for until it is', async () => {
  vi.useFakeTimers();
  try {
    const answers: ToldLandmarks[] = [
      { landmarks: [], indexed_record: null },
      { landmarks: [], indexed_record: 6 },
      { landmarks: [note], indexed_record: 9 },
    ];
    let asked = 0;
    const requests = { landmarks: async () => answers[Math.min(asked++, 2)]! };
    const landmarks = new Landmarks(new Series(), requests, () => {});
    // The state after record 8 comes first, then all that follows.
    landmarks.note({ type: 'keyframe', record: 8 } as unknown as AnyRecord, 6);
    landmarks.note({ type: 'note', record: 9, time: 0, text: 'later' } as AnyRecord, 6);
    await landmarks.load();
    expect(landmarks.ofKind('note').map(({ record }) => record)).toEqual([9]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(landmarks.ofKind('note').map(({ record }) => record)).toEqual([9]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(landmarks.ofKind('note').map(({ record }) => record)).toEqual([7, 9]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toBe(3);
    // So is what was skipped on the way, and nobody is asked any more who has left.
    landmarks.note({ type: 'keyframe', record: 20 } as unknown as AnyRecord, 9);
    landmarks.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toBe(3);
  } finally {
    vi.useRealTimers();
  }
});
