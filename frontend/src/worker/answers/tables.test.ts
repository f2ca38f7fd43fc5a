import { expect, test } from 'vitest';
import { recording } from '../../../tests/recording';
import { Fold } from '../../ledger/fold';
import { NONE } from '../../ledger/generated/constants';
import { RequestMemory } from '../../ledger/requests';
import { Careers, NOT_RECORDED } from '../careers';
import { type TablesAnswer, type TablesWish, tablesAnswer } from './tables';

const made = recording(40, 4, 7, 120);
const WISH: TablesWish = {
  from: 0,
  to: 20,
  state: 'running',
  words: '',
  order: 'arrival',
  descending: false,
};

/** A fold after every step that `look` is called with, and what is asked of it. */
function each(look: (fold: Fold, ask: (wish: Partial<TablesWish>) => TablesAnswer) => void, first = 0): void {
  const memory = new RequestMemory();
  const fold = new Fold(made.numBlocks, made.blockSize, undefined, memory);
  const careers = new Careers(memory, { requests: async () => [] }, { isLost: () => false }, () => {});
  for (const record of made.records) {
    fold.apply(record);
    if (record.record >= first) careers.note(record);
    if (record.type !== 'step' || record.step % 6 !== 0) continue;
    look(fold, (wish) =>
      tablesAnswer(fold, { copied: new Map(), careers, present: [] }, { ...WISH, ...wish }),
    );
  }
}

test('every table is a row, and every request without one in its state', () => {
  let finished = 0;
  each((fold, ask) => {
    const states = [...fold.requests.rows.values()].map(({ state }) => state);
    expect([...ask({}).sequences].sort((a, b) => a - b)).toEqual(
      [...fold.tables.map.values()].map(({ sequence }) => sequence).sort((a, b) => a - b),
    );
    for (const state of ['waiting', 'preempted'] as const) {
      const answer = ask({ state });
      expect(answer.rows.every((row) => row.state === state && row.sequence === null)).toBe(true);
      expect(answer.rows).toHaveLength(states.filter((own) => own === state).length);
    }
    const ended = ask({ state: 'finished' });
    expect([...ended.owners].some((request) => fold.requests.rows.has(request))).toBe(false);
    finished = ended.owners.length;
    expect(ended.rows.every(({ how }) => how === 'length')).toBe(true);
  });
  expect(finished).toBeGreaterThan(3);
});

test('rows are in the order of a figure, either way, and have all the words', () => {
  each((_, ask) => {
    const up = ask({ order: 'blocks' });
    const down = ask({ order: 'blocks', descending: true });
    expect([...up.lengths]).toEqual([...up.lengths].sort((a, b) => a - b));
    expect([...down.lengths]).toEqual([...down.lengths].sort((a, b) => b - a));
    const often = ask({ order: 'preemptions', descending: true, state: 'any' }).rows.map(
      ({ preemptions }) => preemptions as number,
    );
    expect(often).toEqual([...often].sort((a, b) => b - a));
    for (const row of ask({}).rows) {
      const { rows } = ask({ words: `RUNNING ${row.name}` });
      expect(rows.map(({ request }) => request)).toContain(row.request);
      expect(rows.every(({ name }) => name.includes(row.name))).toBe(true);
    }
    expect(ask({ words: 'nobody' }).rows).toEqual([]);
  });
});

test('the sequences of a request stand together, below those that they were forked from', () => {
  let forks = 0;
  each((fold, ask) => {
    const { sequences, owners, rows } = ask({});
    expect(new Set(owners).size).toBe([...owners].filter((owner, i) => owner !== owners[i - 1]).length);
    for (const { sequence, branch } of rows) {
      const parent = fold.requests.memory.sequences.get(sequence ?? NONE)?.parent ?? null;
      if (branch === null || parent === null || !sequences.includes(parent)) continue;
      forks++;
      expect(sequences.indexOf(parent)).toBeLessThan(sequences.indexOf(sequence!));
    }
  });
  expect(forks).toBeGreaterThan(0);
});

test('what came before the records that are here stands last, and is said to be not recorded', () => {
  let unknown = 0;
  each((_, ask) => {
    for (const descending of [true, false]) {
      const answer = ask({ order: 'preemptions', descending });
      const known = answer.rows.map(({ preemptions }) => preemptions !== NOT_RECORDED);
      expect(known.lastIndexOf(true)).toBeLessThanOrEqual(known.filter(Boolean).length - 1);
      expect(answer.unknown).toBe(known.filter((each) => !each).length);
      unknown += answer.unknown;
    }
  }, 60);
  expect(unknown).toBeGreaterThan(0);
});

test('ten thousand rows are told by their numbers alone, but for those around what is in sight', () => {
  const memory = new RequestMemory();
  const fold = new Fold(16, 4, undefined, memory);
  for (let sequence = 0; sequence < 10_000; sequence++) {
    memory.facts.set(sequence, { name: `n${sequence}` } as never);
    memory.sequences.set(sequence, { request: sequence, index: 0 });
    fold.requests.sequences.set(sequence, { request: sequence, index: 0, parent: null, dropped: false });
    fold.requests.rows.set(sequence, { state: 'running', place: 10_000 - sequence });
    fold.tables.enter(sequence, 0, 0, sequence % 16);
  }
  const careers = new Careers(memory, { requests: async () => [] }, { isLost: () => false }, () => {});
  const answer = tablesAnswer(
    fold,
    { copied: new Map(), careers, present: [] },
    { ...WISH, from: 5000, to: 5010 },
  );
  expect([answer.sequences.length, answer.first, answer.rows.length]).toEqual([10_000, 4800, 410]);
  expect(answer.rows.filter(({ blocks }) => blocks !== null)).toHaveLength(10);
  expect(answer.rows[200]!.sequence).toBe(4999);
});
