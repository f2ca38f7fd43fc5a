import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { EmbeddedAnswers } from './embeddedAnswers';

const at = (step: number) => ({ at: { step } });
const TABLE = {
  findings: { findings: [] },
  'why/evicted?op=7': { kind: 'eviction' },
  'why/preempted?of=r3&step=10': 'at 10',
  'why/preempted?of=r3&step=30': 'at 30',
  'why/missed?of=r3': { ...at(5), others: [at(20)] },
  'why/memory?step=10': 'm10',
  'why/memory?step=90': 'm90',
  'why/leaks?step=90': 'l90',
};

function held(table: object | null = TABLE): EmbeddedAnswers {
  const parts = new Map<string, Blob>();
  if (table !== null) parts.set('answers', new Blob([deflateSync(JSON.stringify(table)).toString('base64')]));
  return new EmbeddedAnswers(parts);
}

test('an answer is found by any way of writing its link', async () => {
  expect(await held().answer('findings')).toEqual({ findings: [] });
  expect(await held().answer('why/leaks?step=90&baseline=0')).toBe('l90');
  expect(await held().answer('why/evicted?op=8')).toBeUndefined();
});

test('a preemption is the last one up to the step', async () => {
  expect(await held().answer('why/preempted?of=r3&step=29')).toBe('at 10');
  expect(await held().answer('why/preempted?of=r3&step=31')).toBe('at 30');
  expect(await held().answer('why/preempted?of=r3&step=9')).toBeUndefined();
});

test('a miss is that of the first admission until the next one', async () => {
  expect(await held().answer('why/missed?of=r3&step=19')).toEqual(TABLE['why/missed?of=r3']);
  expect(await held().answer('why/missed?of=r3&step=20')).toBeUndefined();
  expect(await held().answer('why/missed?of=r3&step=4')).toBeUndefined();
});

test('of a state there is an answer at its very step alone', async () => {
  expect(await held().answer('why/memory?step=40')).toBeUndefined();
});

test('where a step has no answer, the nearest one that has is offered, of the same question alone', async () => {
  expect(await held().nearest('why/memory?step=40')).toBe('why/memory?step=10');
  expect(await held().nearest('why/memory?step=60')).toBe('why/memory?step=90');
  expect(await held().nearest('why/memory')).toBe('why/memory?step=90');
  expect(await held().nearest('why/leaks?step=1&baseline=0')).toBe('why/leaks?step=90');
  expect(await held().nearest('why/leaks?baseline=5&step=1')).toBeNull();
  expect(await held().nearest('why/preempted?of=r3&step=9')).toBe('why/preempted?of=r3&step=10');
  expect(await held().nearest('why/missed?of=r3&step=4')).toBe('why/missed?of=r3');
  expect(await held().nearest('why/waits?of=r3&step=4')).toBeNull();
  expect(await held().nearest('why/evicted?op=8')).toBeNull();
});

test('a page without answers has none', async () => {
  expect(await held(null).answer('findings')).toBeUndefined();
});
