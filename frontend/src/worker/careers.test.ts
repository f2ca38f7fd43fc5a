import { expect, test } from 'vitest';
import type { AnyRecord } from '../ledger/fold';
import type { Step } from '../ledger/generated/types';
import { RequestMemory } from '../ledger/requests';
import { Careers, NOT_RECORDED, type RequestTold } from './careers';

const u32 = (...values: number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);
const digest = { blocks: u32(0, 0), tables: u32(0, 0), requests: u32(0, 0) };

/** A step whose record has its number, 100 ns long, sealed 60 ns after its start. */
function step(number: number, decisions: Step['decisions'], ...sampled: number[]): Step {
  const time = 100 * number;
  return {
    type: 'step',
    record: number,
    step: number,
    time,
    sealed: time + 60,
    op: 0,
    digest,
    decisions: decisions ?? [],
    sampled: u32(...sampled),
  };
}

const at = (record: number, rest = 0) => ({ record, step: record, time: 100 * record + 60, rest });
const common = { op: 0, request: 7 };
/** Request 7: submitted in step 1, its first token in step 3, preempted in 4 and 6, ended in 8. */
const STEPS = [
  step(1, [{ kind: 'submitted', ...common, name: 'seven', prompt_tokens: 9, max_tokens: 9 }]),
  step(2, [{ kind: 'admitted', ...common, tokens: 9 }]),
  step(3, [], 70),
  step(4, [{ kind: 'preempted', ...common, victim_of: 1, blocks: 1, tokens: 9 }], 70),
  step(5, [], 70),
  step(6, [{ kind: 'preempted', ...common, victim_of: 1, blocks: 1, tokens: 9 }]),
  step(7, [], 70),
  step(8, [{ kind: 'finished', ...common, reason: 'length' }], 70),
];
const TOLD: RequestTold = {
  request: 7,
  name: 'seven',
  state: 'finished',
  reason: 'length',
  preemptions: 2,
  submitted_record: 1,
  submitted_time: 100,
  first_token_time: 360,
  ended_step: 8,
};

function careersOf(
  records: readonly AnyRecord[],
  told: RequestTold[] = [],
  gap: number | null = null,
): Careers {
  const memory = new RequestMemory();
  memory.sequences.set(70, { request: 7, index: 0 });
  const isLost = (from: number): boolean => gap !== null && from < gap;
  const careers = new Careers(memory, { requests: async () => told }, { isLost }, () => {});
  for (const record of records) careers.note(record);
  return careers;
}

test('what was folded tells of each record what there was at it, in whatever order it was folded', () => {
  for (const records of [STEPS, [...STEPS.slice(4), ...STEPS.slice(0, 4)], [...STEPS, ...STEPS]]) {
    const careers = careersOf(records);
    expect([1, 2, 3, 8].map((record) => careers.firstToken(7, at(record)))).toEqual([null, null, 260, 260]);
    expect([3, 4, 5, 6, 8].map((record) => careers.preemptions(7, at(record)))).toEqual([0, 1, 1, 2, 2]);
    expect(careers.endOf(7, at(7))).toBeNull();
    expect(careers.endOf(7, at(8))).toEqual({ step: 8, how: 'length' });
    expect([...careers.ended()].map(({ request }) => request)).toEqual([7]);
  }
});

test('within its step a token is not there yet', () => {
  expect(careersOf(STEPS).firstToken(7, at(3, 2))).toBeNull();
});

test('what lies before the records that are here is not recorded, and is not guessed', () => {
  const late = careersOf(STEPS.slice(3));
  expect(late.firstToken(7, at(5))).toBe(NOT_RECORDED);
  expect(late.preemptions(7, at(5))).toBe(NOT_RECORDED);
  const holed = careersOf([...STEPS.slice(0, 2), ...STEPS.slice(4)]);
  expect(holed.firstToken(7, at(5))).toBe(NOT_RECORDED);
  expect(holed.preemptions(7, at(7))).toBe(NOT_RECORDED);
  expect(holed.preemptions(7, at(2))).toBe(0);
  expect(late.firstToken(8, at(5))).toBe(NOT_RECORDED);
});

test('the server’s rows tell the rest, but not across a gap, and its counts only of what has ended', async () => {
  const told = careersOf(STEPS.slice(3), [TOLD]);
  told.want(true, false);
  await new Promise((resolve) => setTimeout(resolve));
  expect(told.firstToken(7, at(5))).toBe(260);
  expect(told.firstToken(7, at(2))).toBeNull();
  expect(told.preemptions(7, at(5))).toBe(NOT_RECORDED);
  expect(told.preemptions(7, at(8))).toBe(2);
  const lost = careersOf([], [TOLD], 2);
  lost.load([TOLD]);
  expect(lost.firstToken(7, at(8))).toBe(NOT_RECORDED);
  expect(lost.preemptions(7, at(8))).toBe(NOT_RECORDED);
  expect(lost.endOf(7, at(8))).toEqual({ step: 8, how: 'length' });
});

test('the server is asked once of a session that has ended, and tells why it could not be', async () => {
  let asked = 0;
  const answers: (() => Promise<RequestTold[]>)[] = [
    async () => {
      throw new Error('the server does not answer');
    },
  ];
  const careers = new Careers(
    new RequestMemory(),
    { requests: () => (answers[asked++] ?? (async () => [TOLD]))() },
    { isLost: () => false },
    () => {},
  );
  const turn = () => new Promise((resolve) => setTimeout(resolve));
  careers.want(true, false);
  careers.want(true, false);
  await turn();
  expect([asked, careers.fault]).toEqual([1, 'the server does not answer']);
});
