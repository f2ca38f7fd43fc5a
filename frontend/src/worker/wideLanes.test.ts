import { expect, test, vi } from 'vitest';
import { type LanesQuery, SPAN_STATES } from './lanes';
import { type Career, careersIn, type ToldCareers, WideLanes } from './wideLanes';

const END = 100_000;

function career(request: number, part: Partial<Career>): Career {
  return {
    request,
    name: `mix-${request}`,
    state: 'finished',
    preemptions: 0,
    submitted_step: 10,
    admitted_step: 20,
    ended_step: 90_000,
    ...part,
  };
}

const query = (part: Partial<LanesQuery>): LanesQuery => ({
  from: 0,
  to: END,
  count: 8,
  at: 50_000,
  offset: 0,
  selected: null,
  ...part,
});

function lanesOf(answer: () => ToldCareers, lost: (step: number) => boolean = () => false) {
  const asked: LanesQuery[] = [];
  const careers = async (each: LanesQuery): Promise<ToldCareers> => {
    asked.push(each);
    return answer();
  };
  const lanes = new WideLanes(
    { careers },
    { has: (step) => !lost(step) },
    () => {},
    () => false,
  );
  return { lanes, asked };
}

/** State by state: from a step to a step (excluded). */
function spansOf(spans: readonly number[]): [number, number, string][] {
  const found: [number, number, string][] = [];
  for (let i = 0; i < spans.length; i += 3)
    found.push([spans[i]!, spans[i + 1]!, SPAN_STATES[spans[i + 2]!]!]);
  return found;
}

test('a row is of the whole of a request, cut where the steps that are shown begin and end', async () => {
  vi.useFakeTimers();
  const requests = [
    career(1, {}),
    career(2, { preemptions: 3, admitted_step: 5_000 }),
    career(3, { state: 'waiting', submitted_step: 99_000, admitted_step: null, ended_step: null }),
    career(4, { state: 'lost', ended_step: 40_000 }),
    career(5, { state: 'refused', submitted_step: 60_000, admitted_step: null, ended_step: 60_000 }),
  ];
  const { lanes, asked } = lanesOf(() => ({ requests, total: 5, through: END - 1 }));
  expect(lanes.answer(query({})).isLoading).toBe(true);
  await vi.advanceTimersByTimeAsync(2000);
  expect(asked).toHaveLength(1);
  const { rows, holes, isLoading, total } = lanes.answer(query({}));
  expect([holes, isLoading, total]).toEqual([[], false, 5]);
  expect(rows.map(({ spans }) => spansOf(spans))).toEqual([
    [
      [10, 20, 'waiting'],
      [20, 90_001, 'running'],
    ],
    [
      [10, 5_000, 'waiting'],
      [5_000, 90_001, 'mixed'],
    ],
    [[99_000, END, 'waiting']],
    [
      [10, 20, 'waiting'],
      [20, 40_000, 'running'],
    ],
    [[60_000, 60_001, 'waiting']],
  ]);
  expect(rows.map(({ end }) => end)).toEqual([
    { step: 90_000, how: 'finished' },
    { step: 90_000, how: 'finished' },
    null,
    null,
    { step: 60_000, how: 'refused' },
  ]);
  const part = lanes.answer(query({ from: 15, to: 6_000 }));
  expect(spansOf(part.rows[1]!.spans)).toEqual([
    [15, 5_000, 'waiting'],
    [5_000, 6_000, 'mixed'],
  ]);
  expect(part.rows[1]!.end).toBe(null);
  lanes.close();
  vi.useRealTimers();
});

test('steps that are lost, or not indexed yet, are told as holes, and the rest is asked for as it comes', async () => {
  vi.useFakeTimers();
  let through = 70_000;
  const { lanes, asked } = lanesOf(
    () => ({ requests: [career(1, { state: 'running', ended_step: null })], total: 1, through }),
    (step) => (step >= 300 && step < 400) || step === 5,
  );
  lanes.answer(query({}));
  await vi.advanceTimersByTimeAsync(2000);
  const first = lanes.answer(query({}));
  expect(first.holes).toEqual([5, 6, 300, 400, 70_001, END]);
  expect(spansOf(first.rows[0]!.spans).at(-1)).toEqual([20, 70_001, 'running']);
  through = END - 1;
  await vi.advanceTimersByTimeAsync(2000);
  expect(lanes.answer(query({})).holes).toEqual([5, 6, 300, 400]);
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(asked).toHaveLength(2);
  lanes.close();
  vi.useRealTimers();
});

test('somebody who moves on is asked for once a second at most', async () => {
  vi.useFakeTimers();
  const { lanes, asked } = lanesOf(() => ({ requests: [], total: 0, through: END - 1 }));
  for (let at = 0; at < 100; at++) {
    lanes.answer(query({ at }));
    await vi.advanceTimersByTimeAsync(50);
  }
  await vi.advanceTimersByTimeAsync(2000);
  expect(asked.length).toBeGreaterThan(2);
  expect(asked.length).toBeLessThan(8);
  expect(asked.at(-1)!.at).toBe(99);
  lanes.close();
  vi.useRealTimers();
});

test('careers that a page holds are told as a server tells them: those that are there, those that come, those that ended', () => {
  const all = [
    career(0, { submitted_step: 0, ended_step: 9 }),
    career(1, { submitted_step: 0, ended_step: 20 }),
    career(2, { submitted_step: 5, ended_step: 30 }),
    career(3, { submitted_step: 10, ended_step: null, state: 'running' }),
    career(4, { submitted_step: 50, ended_step: 60 }),
    career(5, { submitted_step: 12, ended_step: 40 }),
    career(6, { submitted_step: 101, ended_step: null, state: 'waiting' }),
  ];
  const told = (part: Partial<LanesQuery>) => {
    const { requests, total, through } = careersIn(all, query({ from: 10, to: 101, at: 40, ...part }), 100);
    return [requests.map(({ request }) => request), total, through];
  };
  expect(told({})).toEqual([[3, 5, 4, 2, 1], 5, 100]);
  expect(told({ offset: 1, count: 2 })).toEqual([[5, 4], 5, 100]);
  expect(told({ count: 2, selected: 1 })).toEqual([[1, 3, 5], 5, 100]);
  expect(told({ count: 2, selected: 0 })).toEqual([[3, 5], 5, 100]);
});
