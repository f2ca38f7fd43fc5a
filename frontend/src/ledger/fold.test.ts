import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstOf, session, Toy } from '../../tests/toy';
import { type AnyRecord, Fold } from './fold';
import { openFrame, sealFrame } from './frame';
import { NONE, Operation } from './generated/constants';
import type { Step } from './generated/types';

/** Through bytes and back, so that columns lie at any offset. */
function wire(record: AnyRecord): AnyRecord {
  return openFrame(sealFrame(record)) as AnyRecord;
}

function view(fold: Fold) {
  const { generation, count, ticket, content, filled, hits, kind, entries, tally } = fold.blocks;
  return {
    columns: [generation, count, ticket, content, filled, hits, kind, entries, tally].map((c) =>
      Array.from(c),
    ),
    tables: [...fold.tables.map.values()]
      .map((table) => [table.sequence, table.group, ...table.blocks.subarray(0, table.end)])
      .sort((a, b) => a[0]! - b[0]!),
    requests: [...fold.requests.rows].sort(([a], [b]) => a - b),
    sequences: structuredClone([...fold.requests.sequences].sort(([a], [b]) => a - b)),
    reasons: structuredClone([...fold.requests.reasons].sort(([a], [b]) => a - b)),
    pins: [...fold.pins.map].sort(([a], [b]) => a - b).map(([block, pins]) => [block, [...pins]]),
    lanes: fold.lanes.words(),
    at: [fold.record, fold.step, fold.op],
  };
}

const sessions = fc.record({
  size: fc.integer({ min: 1, max: 40 }),
  blockSize: fc.constantFrom(1, 2, 4, 16),
  seed: fc.integer(),
});

describe('a fold of a lawful session', () => {
  test('finds nothing wrong and ends every record with the digest that the record tells', () => {
    fc.assert(
      fc.property(sessions, ({ size, blockSize, seed }) => {
        const fold = new Fold(size, blockSize);
        for (const record of session(size, blockSize, seed, 60)) {
          expect(fold.apply(wire(record))).toEqual([]);
          expect(fold.verified).toBe(true);
        }
        expect(fold.violation).toBeNull();
      }),
      { numRuns: 60 },
    );
  });

  test('is undone exactly, record by record, and folds forward to the same again', () => {
    fc.assert(
      fc.property(sessions, ({ size, blockSize, seed }) => {
        const records = session(size, blockSize, seed, 30).map(wire);
        const fold = new Fold(size, blockSize);
        const states = records.map((record) => {
          fold.apply(record);
          return view(fold);
        });
        for (let i = records.length - 1; i > 0; i--) {
          fold.undo(records[i]!);
          expect(view(fold)).toEqual(states[i - 1]);
        }
        for (const record of records.slice(1)) expect(fold.apply(record)).toEqual([]);
        expect(view(fold)).toEqual(states.at(-1));
      }),
      { numRuns: 40 },
    );
  });

  test('stands behind any operation of its last record, as a fold does that was told no more', () => {
    fc.assert(
      fc.property(
        sessions,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 8 }),
        fc.nat(29),
        ({ size, blockSize, seed }, parts, at) => {
          const records = session(size, blockSize, seed, 30).map(wire);
          const index = records.findIndex((record) => record.type === 'step' && record.step === at);
          const step = records[index] as Step;
          const count = step.operations?.kind?.length ?? 0;
          const fold = new Fold(size, blockSize);
          for (const record of records.slice(0, index)) fold.apply(record);
          const before = view(fold);
          fold.apply(step);
          const after = view(fold);
          for (const part of parts) {
            const done = Math.round(part * count);
            const told = new Fold(size, blockSize);
            for (const record of records.slice(0, index)) told.apply(record);
            told.apply(firstOf(step, done));
            expect(fold.stand(step, step.op + done)).toEqual([]);
            expect(view(fold)).toEqual(view(told));
            expect([fold.rest, fold.verified]).toEqual([count - done, true]);
          }
          if (fold.rest > 0) expect(() => fold.apply(records[index + 1]!)).toThrow(/not folded to its end/);
          // From wherever it stands it can be undone, and goes on to its end.
          const within = view(fold).at[2]!;
          fold.undo(step);
          expect(view(fold)).toEqual(before);
          expect(fold.apply(step)).toEqual([]);
          fold.stand(step, within);
          expect(fold.stand(step, step.op + count)).toEqual([]);
          expect(view(fold)).toEqual(after);
          expect(() => fold.stand(step, step.op + count + 1)).toThrow(/can't stand before/);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('remembers requests as long as records are there that undo their ends, and no longer', () => {
    const records = session(24, 4, 3, 200).map(wire);
    const fold = new Fold(24, 4);
    const states = records.map((record) => {
      fold.apply(record);
      return view(fold);
    });
    const { memory, rows } = fold.requests;
    const last = records.length - 1;
    const first = last - 40;
    const before = memory.size;
    const gone = memory.forget([{ first, last }], (request) => request === 0 || rows.has(request));
    expect(gone.size).toBeGreaterThan(5);
    expect(memory.size).toBe(before - gone.size);
    expect([...memory.facts].filter(([request]) => gone.has(request))).toEqual([]);
    expect([...memory.sequences].filter(([, { request }]) => gone.has(request))).toEqual([]);
    expect([...rows.keys()].every((request) => memory.facts.has(request))).toBe(true);
    expect(memory.facts.has(0)).toBe(true);
    expect([memory.folded.holds(first - 1, last), memory.folded.holds(first - 2, last)]).toEqual([
      true,
      false,
    ]);
    for (let i = last; i >= first; i--) {
      fold.undo(records[i]!);
      expect(view(fold)).toEqual(states[i - 1]);
    }
  });

  test('comes back to a snapshot, and goes on from it', () => {
    const records = session(24, 4, 7, 80).map(wire);
    const fold = new Fold(24, 4);
    for (const record of records.slice(0, 40)) fold.apply(record);
    const snapshot = fold.snapshot();
    const before = view(fold);
    for (const record of records.slice(40)) fold.apply(record);
    const end = view(fold);
    fold.restore(snapshot);
    expect(view(fold)).toEqual(before);
    for (const record of records.slice(40)) expect(fold.apply(record)).toEqual([]);
    expect(view(fold)).toEqual(end);
  });

  test('counts usage as it goes', () => {
    const fold = new Fold(24, 4);
    for (const record of session(24, 4, 3, 50)) {
      fold.apply(record);
      const { count, content } = fold.blocks;
      const blocks = Array.from(count, (n, b) => [n, content[b]!] as const);
      expect(fold.usage()).toEqual({
        active: blocks.filter(([n]) => n === 1).length,
        shared: blocks.filter(([n]) => n > 1).length,
        cached: blocks.filter(([n, c]) => n === 0 && c !== NONE).length,
        free: blocks.filter(([n, c]) => n === 0 && c === NONE).length,
      });
    }
  });

  test('begins anywhere with a keyframe', () => {
    const toy = new Toy(24, 4, 11);
    toy.keyframe();
    for (let i = 0; i < 20; i++) toy.next();
    const fold = new Fold(24, 4);
    expect(fold.apply(wire(toy.keyframe()))).toEqual([]);
    for (let i = 0; i < 20; i++) expect(fold.apply(wire(toy.next()))).toEqual([]);
  });

  test('knows of requests by a keyframe what it knows by their submission, but for the salt', () => {
    const toy = new Toy(24, 4, 11);
    const whole = new Fold(24, 4);
    whole.apply(wire(toy.keyframe()));
    for (let i = 0; i < 40; i++) whole.apply(wire(toy.next()));
    const joined = new Fold(24, 4);
    const keyframe = wire(toy.keyframe());
    joined.apply(keyframe);
    expect(joined.requests.facts.size).toBeGreaterThan(2);
    for (const [request, facts] of joined.requests.facts) {
      expect({ ...facts, cacheSalt: 'pepper' }).toEqual(whole.requests.facts.get(request));
    }
    const several = [...joined.requests.facts].map(([, facts]) => facts);
    expect(several.some((facts) => facts.beamWidth !== null)).toBe(true);
    expect(several.some((facts) => facts.beamWidth === null)).toBe(true);

    // And a keyframe takes nothing from who knows more.
    const before = new Map(whole.requests.facts);
    whole.apply(keyframe);
    expect(new Map(whole.requests.facts)).toEqual(before);
  });
});

describe('a fold reports', () => {
  const COLUMNS = ['kind', 'block', 'sequence', 'position', 'ticket', 'filled_after'] as const;

  const folded = (change: (step: Step) => void): Fold => {
    const fold = new Fold(24, 4);
    const records = session(24, 4, 5, 30);
    const victim = records.findLast(
      (record) => record.type === 'step' && COLUMNS.every((name) => record.operations?.[name]),
    ) as Step;
    change(victim);
    for (const record of records.slice(0, records.indexOf(victim) + 1)) fold.apply(record);
    return fold;
  };

  test('a change in any byte of an operation', () => {
    for (const column of COLUMNS) {
      const fold = folded((step) => {
        const raw = step.operations![column]!;
        raw[raw.length - 1] = raw[raw.length - 1] === 1 ? 2 : 1;
      });
      expect(fold.violation, column).not.toBeNull();
      expect(fold.violation!.record).toBe(fold.record);
    }
  });

  test('a digest that differs, by the names of its lanes', () => {
    const fold = folded((step) => {
      step.digest = { ...step.digest, tables: new Uint8Array(8) };
    });
    expect(fold.violation).toMatchObject({ kind: 'digest', message: 'this mirror differs in tables' });
    expect(fold.verified).toBe(false);
  });

  test('an audit of the engine that differs from the ledger', () => {
    const fold = folded((step) => {
      step.audit = { ...step.digest, blocks: new Uint8Array(8) };
    });
    expect(fold.violation).toMatchObject({ kind: 'audit', message: 'this mirror differs in blocks' });
  });

  test('a record that is missing', () => {
    const fold = new Fold(24, 4);
    const records = session(24, 4, 5, 8);
    for (const record of records.filter((record) => record.record !== 4)) fold.apply(record);
    expect(fold.violation).toMatchObject({ kind: 'order', record: 5, message: 'record 5 follows record 3' });
  });

  test('nothing verified after a gap, until a keyframe', () => {
    const toy = new Toy(24, 4, 2);
    const fold = new Fold(24, 4);
    fold.apply(toy.keyframe());
    fold.apply(toy.next());
    expect(fold.verified).toBe(true);
    const lost = toy.next().record;
    fold.apply({ type: 'gap', record: toy.record++, time: 0, first: lost, last: lost, reason: 'test' });
    expect([fold.loaded, fold.verified]).toEqual([false, false]);
    fold.apply(toy.keyframe());
    expect(fold.apply(toy.next())).toEqual([]);
    expect(fold.verified).toBe(true);
  });

  test('tables and pins of a keyframe that name blocks past the pool', () => {
    const keyframe = new Toy(24, 4, 2).keyframe();
    const words = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);
    const fold = new Fold(24, 4);
    const tables = { sequence: words(1), group: Uint8Array.of(0), position: words(0), block: words(24) };
    const found = fold.apply({ ...keyframe, tables, pins: { block: words(2 ** 31), pin: Uint8Array.of(1) } });
    expect(found.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'a table names block 24 at 0, the pool has 24',
        'a pin is on block 2147483648, the pool has 24',
      ]),
    );
    expect(fold.pins.map.size).toBe(0);
  });

  test('and stops at an operation that it does not know', () => {
    const toy = new Toy(4, 4, 2);
    const fold = new Fold(4, 4);
    fold.apply(toy.keyframe());
    const step = toy.next();
    const kind = Uint8Array.of(Operation.free + 1);
    expect(() => fold.apply({ ...step, operations: { kind } })).toThrow(/needs a newer kvarium/);
  });
});
