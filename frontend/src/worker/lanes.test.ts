import { expect, test, vi } from 'vitest';
import { recording } from '../../tests/recording';
import type { AnyRecord } from '../ledger/fold';
import type { PlainState } from '../ledger/plain';
import { RequestMemory } from '../ledger/requests';
import { type LaneRow, Lanes, type LanesQuery, SPAN_STATES } from './lanes';
import { LaneWalk, type ToldLanes } from './stretches';

const made = recording(24, 4, 3, 120);
const END = made.lastStep + 1;

function told(first: number, last: number, records: readonly AnyRecord[] = made.records): ToldLanes {
  const walk = new LaneWalk(first, last);
  for (const record of records) walk.follow(record);
  return walk.told();
}

function lanesOf(answer: (first: number, last: number) => Promise<ToldLanes>): {
  lanes: Lanes;
  asked: string[];
} {
  const asked: string[] = [];
  const lanes = (first: number, last: number): Promise<ToldLanes> => {
    asked.push(`${first}-${last}`);
    return answer(first, last);
  };
  return {
    lanes: new Lanes(
      { lanes },
      new RequestMemory(),
      () => {},
      () => false,
    ),
    asked,
  };
}

const all = (part: Partial<LanesQuery>): LanesQuery => ({
  from: 0,
  to: END,
  count: 1000,
  at: 0,
  offset: 0,
  selected: null,
  ...part,
});

/** By request: its state in a step. */
function statesIn(rows: readonly LaneRow[], step: number): Map<number, string> {
  const found = new Map<number, string>();
  for (const { request, spans } of rows) {
    for (let i = 0; i < spans.length; i += 3) {
      if (spans[i]! <= step && step < spans[i + 1]!) found.set(request, SPAN_STATES[spans[i + 2]!]!);
    }
  }
  return found;
}

/** After a step, by the fold. */
function statesAfter(step: number): Map<number, string> {
  const { requests } = JSON.parse(made.states.get(step)!) as PlainState;
  return new Map(requests.map(([request, state]) => [request, state]));
}

test('what came at the live end has the states that the fold has, and asks nobody', async () => {
  const { lanes, asked } = lanesOf(async () => ({ through: -1, stretches: [], names: {} }));
  let isFirst = true;
  for (const record of made.records) {
    lanes.follow(record, isFirst);
    isFirst = false;
  }
  const first = Math.min(...made.states.keys());
  const { rows, holes } = lanes.answer(all({ from: first }));
  expect(holes).toEqual([]);
  let several = 0;
  for (const step of made.states.keys()) {
    const found = statesIn(rows, step);
    const after = statesAfter(step);
    for (const { request, end } of rows) {
      // In the step in which it ends it is there still.
      if (end?.step !== step)
        expect(found.get(request), `r${request} in step ${step}`).toBe(after.get(request));
    }
    several = Math.max(several, after.size);
  }
  expect(several).toBeGreaterThan(1);
  expect(asked).toEqual([]);
  lanes.close();
});

test('what is missing is asked for in portions once the reader rests, and what is lost only once', async () => {
  vi.useFakeTimers();
  // Nothing is told of the steps 40 to 49.
  const { lanes, asked } = lanesOf(async (first, last) => {
    const whole = told(first, last);
    return {
      ...whole,
      through: last,
      stretches: whole.stretches.filter((each) => each.first < 40 || each.first >= 50),
    };
  });
  lanes.answer(all({ from: 10, to: 30 }));
  expect(lanes.answer(all({ from: 20, to: 30 })).isLoading).toBe(true);
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(asked).toEqual(['20-29']);
  const here = lanes.answer(all({ from: 20, to: 30 }));
  expect([here.holes, here.isLoading]).toEqual([[], false]);
  for (const step of [20, 24, 29]) {
    const found = statesIn(here.rows, step);
    for (const [request, state] of statesAfter(step)) expect(found.get(request)).toBe(state);
  }
  lanes.answer(all({ from: 25, to: 50 }));
  await vi.advanceTimersByTimeAsync(200);
  lanes.answer(all({ from: 40, to: 50 }));
  await vi.advanceTimersByTimeAsync(200);
  lanes.answer(all({ from: 40, to: 50 }));
  await vi.advanceTimersByTimeAsync(20_000);
  // The whole of 30 to 49 was one stretch; what it did not hold is lost.
  expect(asked.slice(0, 2)).toEqual(['20-29', '30-49']);
  expect(asked.length).toBe(2);
  lanes.close();
  vi.useRealTimers();
});

test('the rows are those that live where the view is, by arrival; the selected one is among them', () => {
  const { lanes } = lanesOf(async () => ({ through: -1, stretches: [], names: {} }));
  for (const [i, record] of made.records.entries()) lanes.follow(record, i === 0);
  const at = [...made.states.keys()].find((step) => statesAfter(step).size >= 2)!;
  const living = [...statesAfter(at).keys()].sort((a, b) => a - b);
  const whole = lanes.answer(all({ at }));
  const order = whole.rows.map(({ request }) => request);
  // One that ended in this very step is there still.
  expect(order.slice(0, living.length + 4)).toEqual(expect.arrayContaining(living));
  const present = whole.rows.filter(({ spans }) => spans[0]! <= at && spans.at(-2)! > at);
  expect(order.slice(0, present.length)).toEqual(present.map(({ request }) => request));
  const others = whole.rows.slice(present.length);
  const later = others.filter(({ spans, end }) => (spans[0] ?? end!.step) > at);
  expect(others.slice(0, later.length)).toEqual(later);
  const some = lanes.answer(all({ count: 2, at, offset: 1 }));
  expect([some.total, some.offset]).toEqual([order.length, 1]);
  expect(some.rows.map(({ request }) => request)).toEqual(order.slice(1, 3));
  const selected = order.at(-1)!;
  const marked = lanes.answer(all({ count: 2, at, selected }));
  expect(marked.rows.map(({ request }) => request)).toEqual([selected, order[0]]);
  lanes.close();
});
