import { expect, test } from 'vitest';
import type { Decision } from '../ledger/requests';
import { Series } from './series';

function filled(steps: number): Series {
  const series = new Series();
  const step = Array.from({ length: steps }, (_, i) => i);
  series.load({
    step,
    record: step.map((i) => 2 * i),
    op: step.map((i) => 10 * i),
    time: step.map((i) => 1000 * i),
    active: step.map(() => 4),
    shared: step.map(() => 2),
    cached: step.map(() => 1),
    free: step.map(() => 9),
    prefill_tokens: step.map((i) => (i === 37 ? 500 : 0)),
    decode_tokens: step.map(() => 3),
    budget: step.map(() => 2048),
    allocate: step.map(() => 1),
    evict: step.map(() => 1),
    copy: step.map(() => 0),
    preempted: step.map((i) => (i === 50 ? 1 : 0)),
    // Of the first steps it is not recorded.
    queries: step.map((i) => (i < 5 ? null : i % 10 === 7 ? 100 : 0)),
    hits: step.map((i) => (i < 5 ? null : i === 27 ? 64 : 0)),
  });
  return series;
}

test('a burst of one step is not lost in a bucket of many', () => {
  const buckets = filled(100).buckets(0, 100, 10);
  expect(buckets.per).toBe(10);
  expect(Array.from(buckets.prefill)).toEqual([0, 0, 0, 500, 0, 0, 0, 0, 0, 0]);
  expect(Array.from(buckets.preempted)).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
  expect(Array.from(buckets.evict)).toEqual(new Array(10).fill(10));
  expect(Array.from(buckets.active)).toEqual(new Array(10).fill(4));
  expect(buckets.maxTokens).toBe(503);
  expect(Array.from(buckets.prefillSum)).toEqual([0, 0, 0, 500, 0, 0, 0, 0, 0, 0]);
  expect(Array.from(buckets.decodeSum)).toEqual(new Array(10).fill(30));
  expect(Array.from(buckets.most)).toEqual(new Array(10).fill(6));
  expect(Array.from(buckets.known)).toEqual(new Array(10).fill(10));
});

test('what is not known stays unknown, and is found', () => {
  const series = filled(10);
  series.place({ type: 'step', record: 99, step: 20, time: 0, sealed: 20_000, op: 1, digest: {} as never });
  // Of a step that only came with a seek the usage is not known.
  expect(series.hole()).toBeNull();
  expect(series.hole(20)).toEqual([10, 20]);
  series.load({ step: [25], record: [50], active: [4] });
  expect(series.hole()).toEqual([10, 24]);
  // A keyframe joined at step 30: the steps before it are missing too, though none after them is known yet.
  const joined = new Series();
  joined.load({ step: [0, 1, 2], record: [1, 3, 5], active: [4, 4, 4] });
  expect(joined.hole()).toBeNull();
  expect(joined.hole(2)).toBeNull();
  expect(joined.hole(30)).toEqual([3, 30]);
  expect(series.has(15)).toBe(false);
  expect(series.has(20)).toBe(true);
  expect(series.buckets(10, 20, 10).active.every(Number.isNaN)).toBe(true);
});

test('a step is found by its time', () => {
  const series = filled(100);
  expect([0, 999, 1000, 54_321, 1e9].map((time) => series.last('time', time))).toEqual([0, 0, 1, 54, 99]);
});

test('steps that were not saved are forgotten', () => {
  const series = filled(100);
  series.truncate(60);
  expect([series.has(59), series.has(60), series.length]).toEqual([true, false, 60]);
  series.load({ step: [70], record: [140] });
  expect([series.has(65), series.has(70)]).toEqual([false, true]);
});

test('the hit rate is that of the requests that were admitted, and is not told where it was not recorded', () => {
  const series = filled(40);
  const buckets = series.buckets(0, 40, 4);
  expect(Array.from(buckets.queries)).toEqual([Number.NaN, 100, 100, 100]);
  expect(Array.from(buckets.hits)).toEqual([Number.NaN, 0, 64, 0]);
  expect(Array.from(series.buckets(40, 50, 5).queries)).toEqual(new Array(5).fill(Number.NaN));
});

test('a request that comes back after a preemption is no query, as in vLLM', () => {
  const series = new Series();
  const admitted = { kind: 'admitted', op: 0, state_after: 'running' } as const;
  const decisions: Decision[] = [
    { ...admitted, request: 0, tokens: 40, hit: 32, state_before: 'waiting' },
    { ...admitted, request: 1, tokens: 7, state_before: 'waiting' },
    { ...admitted, request: 2, tokens: 100, hit: 96, state_before: 'preempted' },
  ];
  const step = { type: 'step', record: 1, step: 0, time: 0, sealed: 1, op: 0, digest: {} as never } as const;
  series.append({ ...step, decisions }, { active: 1, shared: 0, cached: 0, free: 0 });
  expect([series.get('queries', 0), series.get('hits', 0)]).toEqual([47, 32]);
});
