import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import { matcher } from '../filter/match';
import { readFilter } from '../filter/read';
import { Fold } from '../ledger/fold';
import type { Step } from '../ledger/generated/types';
import { RequestMemory } from '../ledger/requests';
import { type EventRow, rowsOf } from './answers/events';
import { EmbeddedEvents } from './embeddedEvents';
import { comparePlaces } from './eventPage';
import { History } from './history';
import { Listing, type ListingAnswer } from './listing';
import { Lives } from './lives';
import { Series } from './series';

const made = recording(20, 4, 11, 90);
const steps = made.records.filter((record): record is Step => record.type === 'step');
const last = made.records.length - 1;
const ORIGIN = { startUtcUs: 0, zone: 0 };
const FILTERS = [
  '',
  'op:evict,copy',
  'block:3',
  'block:3#2',
  'owner:r1',
  'decision:any',
  '-op:fill step:20..60',
  'hit',
];
const ALL = everything();

function filterOf(typed: string) {
  const read = readFilter(typed);
  if ('fault' in read) throw new Error(typed);
  return read.filter;
}

/** All rows that meet each of the filters, by a look at every event. */
function everything(): ReadonlyMap<string, readonly EventRow[]> {
  const memory = new RequestMemory();
  const fold = new Fold(made.numBlocks, made.blockSize, undefined, memory);
  for (const record of made.records) fold.apply(record);
  const known = {
    sequence: (id: number) => memory.sequences.get(id),
    name: (id: number) => memory.facts.get(id)?.name,
    hash: () => undefined,
  };
  return new Map(
    FILTERS.map((typed) => {
      const lives = new Lives(new Uint32Array(made.numBlocks));
      const isWanted = matcher(filterOf(typed), known, ORIGIN);
      return [typed, steps.flatMap((step) => rowsOf(step, isWanted, memory, lives))];
    }),
  );
}

const places = (rows: readonly EventRow[]): readonly (readonly number[])[] =>
  rows.map(({ record, index }) => [record, index]);

/** The frames in parts, as a page holds them. */
function embedded(): EmbeddedEvents {
  const parts: (readonly Uint8Array[])[] = [];
  for (let at = 0; at < made.frames.length; at += 17) parts.push(made.frames.slice(at, at + 17));
  return new EmbeddedEvents({
    first: parts.map((_, i) => 17 * i),
    last: parts.map((part, i) => 17 * i + part.length - 1),
    open: async (part) => parts[part]!,
    hello: async () => ({ block_size: made.blockSize }),
  });
}

interface Reader {
  asked: number;
  /** What is told of a wish, once nothing more is looked for. */
  look(typed: string, at: { op: number } | null, before: number, after: number): Promise<ListingAnswer>;
}

/** At a step of the session, with the records from one to another here. */
function reader(step: number, from: number, to: number): Reader {
  const memory = new RequestMemory();
  const fold = new Fold(made.numBlocks, made.blockSize, undefined, memory);
  for (const record of made.records) {
    fold.apply(record);
    if (fold.step >= step) break;
  }
  const history = new History();
  for (let record = from; record <= to; record++) history.add(record, made.frames[record]!);
  const series = new Series();
  for (const each of steps) series.place(each);
  const source = embedded();
  let wakes = 0;
  const listing = new Listing(
    history,
    memory,
    series,
    {
      events: (query, known) => {
        self.asked++;
        return source.page(query, known);
      },
    },
    ORIGIN,
    () => last,
    () => wakes++,
  );
  const self: Reader = {
    asked: 0,
    look: async (typed, at, before, after) => {
      listing.look({ filter: filterOf(typed), at, before, after });
      for (let i = 0; i < 500; i++) {
        const woken = wakes;
        while (listing.work(fold, performance.now() + 5, false));
        const answer = listing.answer(fold, null);
        if (!answer.looking) return answer;
        while (wakes === woken) await new Promise((resolve) => setTimeout(resolve));
      }
      throw new Error('it never ends');
    },
  };
  return self;
}

test('a window is a part of all that meets the filter, wherever it is and whoever reads it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...FILTERS.filter((typed) => !typed.includes('#'))),
      fc.nat(80),
      fc.option(fc.nat(steps.at(-1)!.op)),
      fc.nat(30),
      fc.nat(30),
      fc.nat(last),
      fc.nat(last),
      async (typed, step, op, before, after, a, b) => {
        const list = await reader(step, Math.min(a, b), Math.max(a, b)).look(
          typed,
          op === null ? null : { op },
          before,
          after,
        );
        const all = ALL.get(typed)!;
        const first = list.rows[0];
        const begin = first === undefined ? 0 : all.findIndex((row) => comparePlaces(row, first) === 0);
        expect(places(list.rows)).toEqual(places(all.slice(begin, begin + list.rows.length)));
        expect(list.rows.length >= Math.min(before, list.begins ? 0 : before)).toBe(true);
        list.rows.forEach(({ generation }, i) => {
          if (generation !== null) expect(generation).toBe(all[begin + i]!.generation);
        });
        if (list.begins) expect(begin).toBe(0);
        if (list.ends && first !== undefined) expect(begin + list.rows.length).toBe(all.length);
        if (op === null) {
          expect(list.rows.slice(0, list.now).every((row) => row.step <= step)).toBe(true);
          expect(list.rows.slice(list.now).every((row) => row.step > step)).toBe(true);
        }
      },
    ),
    { numRuns: 120 },
  );
});

test('what is here is read here, from the view on, and knows the life of every block', async () => {
  const here = reader(40, 0, last);
  for (const typed of FILTERS) {
    const list = await here.look(typed, null, 10_000, 10_000);
    expect(list.begins && list.ends).toBe(true);
    expect(list.rows.map(({ record, index, generation }) => [record, index, generation])).toEqual(
      ALL.get(typed)!.map(({ record, index, generation }) => [record, index, generation]),
    );
  }
  expect(here.asked).toBe(0);
});

test('what is not here is asked for, and no more of it than is wanted', async () => {
  const far = reader(40, last, last);
  const list = await far.look('op:evict', { op: 100 }, 5, 5);
  expect(far.asked).toBeGreaterThan(0);
  expect(list.rows.length).toBeLessThanOrEqual(10);
  expect(list.rows.every((row) => row.generation === null)).toBe(true);
});

test('a page that holds its recording finds the same from either end, in pages of any size', async () => {
  const source = embedded();
  const memory = new RequestMemory();
  for (const typed of FILTERS.filter((each) => !each.includes('#'))) {
    for (const direction of ['later', 'earlier'] as const) {
      const found: EventRow[] = [];
      let at: { record: number; index: number } | null = {
        record: direction === 'later' ? 0 : last + 1,
        index: 0,
      };
      while (at !== null) {
        const page = await source.page({ filter: typed, from: at, direction, limit: 7 }, memory);
        if (direction === 'later') found.push(...page.rows);
        else found.unshift(...page.rows);
        at = page.next;
      }
      expect(places(found)).toEqual(places(ALL.get(typed)!));
    }
  }
});

test('what is known only elsewhere is asked for, though all of it is here', async () => {
  const here = reader(40, 0, last);
  const list = await here.look('-hash:0 op:evict', { op: 100 }, 5, 5);
  expect(here.asked).toBeGreaterThan(0);
  expect(list.rows.length).toBeGreaterThan(0);
});
