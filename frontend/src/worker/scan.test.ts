import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import type { Filter } from '../filter/filter';
import { Fold } from '../ledger/fold';
import { RequestMemory } from '../ledger/requests';
import { History } from './history';
import { Scan } from './scan';

const DECISIONS: Filter[number] = { field: 'decision', not: false, values: ['any'] };
const made = recording(20, 4, 11, 60);

/** A fold of the first half, with a history of everything and a memory of its own. */
function half(): { fold: Fold; history: History; memory: RequestMemory } {
  const memory = new RequestMemory();
  const fold = new Fold(made.numBlocks, made.blockSize, undefined, memory);
  const history = new History();
  made.frames.forEach((frame, record) => {
    history.add(record, frame);
  });
  for (const record of made.records) {
    if (fold.step >= 30) break;
    fold.apply(record);
  }
  return { fold, history, memory };
}

function finish(scan: Scan, fold: Fold): void {
  for (let i = 0; i < 1000 && scan.work(fold, performance.now() + 5); i++);
}

test('a list never holds a row of a later step, and holds all of the present one', () => {
  const { fold, history, memory } = half();
  const scan = new Scan(history, memory, [], 10_000, 1);
  finish(scan, fold);
  const { rows, now } = scan.answer(fold);
  expect(rows.slice(0, now).every((row) => row.step <= 30)).toBe(true);
  expect(rows.slice(now).every((row) => row.step > 30)).toBe(true);
  const decisions = made.records.flatMap((each) =>
    each.type === 'step' && each.step <= 30 ? (each.decisions ?? []) : [],
  );
  expect(rows.slice(0, now).filter((row) => typeof row.kind !== 'number')).toHaveLength(decisions.length);
});

test('a filter that is set once its request is known leaves nothing of others', () => {
  const { fold, history, memory } = half();
  const scan = new Scan(history, memory, [DECISIONS], 10_000, 1);
  finish(scan, fold);
  scan.look([DECISIONS, { field: 'owner', not: false, values: [{ request: 1 }] }]);
  finish(scan, fold);
  const { rows } = scan.answer(fold);
  expect(rows.length).toBeGreaterThan(0);
  for (const { kind } of rows) {
    if (typeof kind === 'number' || kind.kind === 'gap') throw new Error('no decision');
    expect(kind.request === 1 || (kind.kind === 'preempted' && kind.victim_of === 1)).toBe(true);
  }
});

test('a request of several sequences is named so in a part that nobody folded', () => {
  const { fold, history } = half();
  const known = new Scan(history, fold.requests.memory, [], 10_000, 1);
  finish(known, fold);
  const labels = known.answer(fold).rows.map(({ label }) => label);
  expect(labels).toContain('r1.0');
  const scan = new Scan(history, new RequestMemory(), [], 10_000, 1);
  finish(scan, fold);
  expect(scan.answer(fold).rows.map(({ label }) => label)).toEqual(labels);
});

test('the next change lies after the present step, though the list ends there', () => {
  const { fold, history, memory } = half();
  for (let block = 1; block < made.numBlocks; block++) {
    const scan = new Scan(
      history,
      memory,
      [{ field: 'block', not: false, values: [{ from: block, to: block }] }],
      200,
      1,
    );
    finish(scan, fold);
    const next = scan.change(fold, 1);
    const previous = scan.change(fold, -1);
    if (next !== null) expect(next).toBeGreaterThan(30);
    if (previous !== null) expect(previous).toBeLessThan(30);
  }
  const all = new Scan(history, memory, [], 200, 1);
  finish(all, fold);
  expect(all.change(fold, 1)).toBe(31);
  expect(all.change(fold, -1)).toBe(29);
});
