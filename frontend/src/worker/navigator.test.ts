import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Recording, recording } from '../../tests/recording';
import { firstOf } from '../../tests/toy';
import { Fold } from '../ledger/fold';
import type { Step } from '../ledger/generated/types';
import { plainState } from '../ledger/plain';
import { Changes } from './changes';
import { type Bounds, History } from './history';
import { Navigator } from './navigator';
import { Series } from './series';

interface Journey {
  navigator: Navigator;
  history: History;
  faults: string[];
  /** What was applied, and whether the view was waited for then. */
  onTheWay: { type: string; waiting: boolean }[];
  /** Go to a step, or behind one of its operations, and wait until the view is there. */
  to(step: number, operation?: number | null): Promise<void>;
}

function journey(made: Recording, bounds?: Bounds): Journey {
  const faults: string[] = [];
  const history = new History(bounds);
  const series = new Series();
  for (const record of made.records) if (record.type === 'step') series.place(record);
  const fold = new Fold(made.numBlocks, made.blockSize);
  const changes = new Changes(made.numBlocks, 16);
  const onTheWay: Journey['onTheWay'] = [];
  const navigator: Navigator = new Navigator(fold, history, series, made.requests(), changes, {
    applied: (moved, { type }) => {
      onTheWay.push({ type, waiting: navigator.waiting });
      if (moved.violation !== null) faults.push(moved.violation.message);
      if (moved.verified && moved.record % 7 === 0 && history.get(moved.record)) {
        history.addSnapshot(moved.snapshot());
      }
    },
    compared: (moved) => {
      if (moved.violation !== null) faults.push(moved.violation.message);
    },
    fault: (record, message) => faults.push(`${record}: ${message}`),
    notice: (told) => faults.push(told.kind),
    lastRecord: () => made.records.length - 1,
    wake: () => {},
  });
  const to = async (step: number, operation: number | null = null): Promise<void> => {
    navigator.go({ step, operation });
    for (let i = 0; i < 1000 && navigator.moving; i++) {
      navigator.work(performance.now() + 5);
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  return { navigator, history, faults, onTheWay, to };
}

describe('a view that is moved through a recording', () => {
  test('shows the same where requests are forgotten with the records that told of them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(fc.tuple(fc.nat(59), fc.boolean()), { minLength: 1, maxLength: 12 }),
        async (seed, steps) => {
          const made = recording(20, 4, seed, 60);
          const { navigator, history, faults, to } = journey(made, {
            frameBytes: 4000,
            snapshotBytes: 20_000,
            baseBytes: 0,
          });
          for (const [step, forgets] of steps) {
            await to(step);
            expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(step));
            expect(navigator.fold.verified).toBe(true);
            const { memory, rows } = navigator.fold.requests;
            if (forgets) memory.forget(history.ranges, (request) => rows.has(request));
          }
          expect(faults).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  }, 60_000);

  test('is on its way from the keyframe of a seek to the place, so that what stands in between can be put off', async () => {
    const { onTheWay, to } = journey(recording(20, 4, 3, 60));
    await to(40);
    expect(onTheWay[0]).toEqual({ type: 'keyframe', waiting: true });
    expect(onTheWay.length).toBeGreaterThan(1);
    expect(onTheWay.every(({ waiting }) => waiting)).toBe(true);
  });

  test('shows at every step what a fold from the start shows, wherever it came from', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(fc.nat(59), { minLength: 1, maxLength: 12 }),
        async (seed, steps) => {
          const made = recording(20, 4, seed, 60);
          const { navigator, faults, to } = journey(made);
          for (const step of steps) {
            await to(step);
            expect(navigator.fold.step).toBe(step);
            expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(step));
            expect(navigator.fold.verified).toBe(true);
            expect(navigator.current?.step).toBe(step);
          }
          expect(faults).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  }, 60_000);

  test('stands behind any operation, wherever it came from, with the step’s end compared', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(fc.record({ step: fc.nat(59), part: fc.double({ min: 0, max: 1, noNaN: true }) }), {
          minLength: 1,
          maxLength: 12,
        }),
        async (seed, places) => {
          const made = recording(20, 4, seed, 60);
          const { navigator, faults, to } = journey(made);
          for (const { step, part } of places) {
            const record = made.records.find((each) => each.type === 'step' && each.step === step) as Step;
            const count = record.operations?.kind?.length ?? 0;
            const done = Math.round(part * count);
            await to(step, record.op + done - 1);
            const { fold } = navigator;
            expect(fold.verified).toBe(true);
            if (done === count) {
              expect(JSON.stringify(plainState(fold))).toBe(made.states.get(step));
              continue;
            }
            const told = new Fold(made.numBlocks, made.blockSize);
            for (const each of made.records.slice(0, record.record)) told.apply(each);
            told.apply(firstOf(record, done));
            expect(fold.rest).toBe(count - done);
            expect(plainState(fold)).toEqual(plainState(told));
          }
          await to(places[0]!.step);
          expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(places[0]!.step));
          expect(faults).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  }, 60_000);

  test('gets there with a history that holds next to nothing', async () => {
    const made = recording(20, 4, 3, 60);
    const { navigator, history, faults, to } = journey(made, {
      frameBytes: 6000,
      snapshotBytes: 1,
      baseBytes: 0,
    });
    for (const step of [50, 2, 30, 31, 29, 59, 0]) {
      await to(step);
      expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(step));
    }
    expect(history.bytes).toBeLessThan(12_000);
    expect(faults).toEqual([]);
  });

  test('gets there by what changed since what it has, wherever it came from', async () => {
    const small = { frameBytes: 6000, snapshotBytes: 1, baseBytes: 2000 };
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(fc.nat(59), { minLength: 4, maxLength: 12 }),
        async (seed, steps) => {
          const made = recording(20, 4, seed, 60);
          const { navigator, history, faults, to } = journey(made, small);
          for (const step of [5, ...steps, 55, 5, 55]) {
            await to(step);
            expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(step));
            expect(navigator.fold.verified).toBe(true);
          }
          expect(made.differences).toBeGreaterThan(0);
          expect(history.bases.bytes).toBeLessThanOrEqual(2000);
          expect(faults).toEqual([]);
        },
      ),
      { numRuns: 8 },
    );
  }, 60_000);

  test('a base that was dropped while an answer was on its way still serves it', async () => {
    const made = recording(20, 4, 5, 60);
    const { navigator, history, faults, to } = journey(made, {
      frameBytes: 6000,
      snapshotBytes: 1,
      baseBytes: 2000,
    });
    await to(5);
    navigator.go({ step: 55, operation: null });
    navigator.work(performance.now() + 5);
    history.bases.truncate(-1);
    await to(55);
    expect(made.differences).toBe(1);
    expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(55));
    expect(faults).toEqual([]);
  });

  test('what is laid over another state than it was told for is a fault', async () => {
    const made = recording(200, 4, 5, 60);
    const { navigator, history, faults, to } = journey(made, {
      frameBytes: 6000,
      snapshotBytes: 1,
      baseBytes: 20_000,
    });
    await to(5);
    history.bases.before(1e9)!.columns.generation!.fill(1);
    await to(55);
    expect(faults[0]).toContain('this mirror differs in blocks');
    expect(navigator.fold.violation).not.toBeNull();
  });

  test('asks for nothing while it stays inside what is loaded', async () => {
    const made = recording(20, 4, 5, 60);
    const { navigator, history, to } = journey(made);
    for (const [index, frame] of made.frames.entries()) history.add(index, frame);
    await to(0);
    const asked = made.asked;
    for (const step of [10, 55, 20, 41, 40, 39, 1]) {
      await to(step);
      expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(step));
    }
    expect(made.asked).toBe(asked);
  });

  test('is not undone beyond the keyframe that it began with, which does not list what had ended', async () => {
    const made = recording(20, 4, 5, 60);
    const { navigator, history, faults, to } = journey(made, {
      frameBytes: 1 << 20,
      snapshotBytes: 1,
      baseBytes: 0,
    });
    for (const [index, frame] of made.frames.entries()) history.add(index, frame);
    await to(55);
    const { base } = navigator.fold;
    expect(base).toBeGreaterThan(0);
    const asked = made.asked;
    await to(1);
    expect(navigator.fold.base).toBeLessThan(base);
    expect(made.asked).toBe(asked + 1);
    expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(1));
    expect(faults).toEqual([]);
  });

  test('the latest goal wins', async () => {
    const made = recording(20, 4, 8, 60);
    const { navigator, to } = journey(made);
    navigator.go({ step: 50, operation: null });
    navigator.work(performance.now() + 1);
    navigator.go({ step: 10, operation: null });
    await to(12);
    expect(navigator.fold.step).toBe(12);
    expect(JSON.stringify(plainState(navigator.fold))).toBe(made.states.get(12));
  });
});
