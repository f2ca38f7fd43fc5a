import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import { Foresight } from './foresight';
import { History } from './history';
import { Series } from './series';

interface Asked {
  readonly step: number;
  readonly signal: AbortSignal;
  answer(): void;
  fail(): void;
}

function foresight(isMoving = () => false) {
  const made = recording(20, 4, 3, 60);
  const asked: Asked[] = [];
  const seek = (step: number, _since: number | null, signal: AbortSignal): Promise<Uint8Array[]> =>
    new Promise((resolve, reject) => {
      asked.push({ step, signal, answer: () => resolve([]), fail: () => reject(new Error('away')) });
    });
  const history = new History();
  const series = new Series();
  for (const record of made.records) if (record.type === 'step') series.place(record);
  return { asked, history, seen: new Foresight({ seek }, { record: 0 }, history, series, isMoving), made };
}

test('what is fetched for where the pointer rests is handed over once, and only for that step', async () => {
  const { asked, seen } = foresight();
  seen.expect(40);
  seen.expect(40);
  expect(asked.map(({ step }) => step)).toEqual([40]);
  const found = seen.take(40)!;
  asked[0]!.answer();
  expect(await found.answer).toEqual([]);
  expect(found.abort.signal.aborted).toBe(false);
  expect(seen.take(40)).toBeNull();
});

test('the latest place wins: what was on its way to another one is dropped', () => {
  const { asked, seen } = foresight();
  seen.expect(40);
  seen.expect(50);
  expect(asked.map(({ step, signal }) => [step, signal.aborted])).toEqual([
    [40, true],
    [50, false],
  ]);
  expect(seen.take(30)).toBeNull();
  expect(asked[1]!.signal.aborted).toBe(true);
  seen.expect(50);
  seen.expect(null);
  expect(asked[2]!.signal.aborted).toBe(true);
});

test('a guess that failed is forgotten, so that a seek asks for itself', async () => {
  const { asked, seen } = foresight();
  seen.expect(40);
  asked[0]!.fail();
  await Promise.resolve();
  await Promise.resolve();
  expect(seen.take(40)).toBeNull();
});

test('nothing is fetched that is here, that nobody knows, or while the view is on its way', () => {
  const { asked, seen, history, made } = foresight();
  history.addAll(made.frames.slice(0, 30));
  const here = made.records.slice(5, 30).find((record) => record.type === 'step')!;
  seen.expect((here as { step: number }).step);
  seen.expect(4000);
  expect(asked).toEqual([]);
  const { seen: moving, asked: none } = foresight(() => true);
  moving.expect(40);
  expect(none).toEqual([]);
});
