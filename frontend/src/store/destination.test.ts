import { describe, expect, test } from 'vitest';
import { readDestination } from './destination';

/** A session of 90 s that began at 23:59:10.250 of this zone. */
const START = new Date(2026, 10, 29, 23, 59, 10, 250).getTime() * 1000;
const extent = { lastStep: 1500, lastRecord: 2999, lastOp: 99_999, lastTime: 90e9, startUtcUs: START };
const read = (typed: string): unknown => {
  const reading = readDestination(typed, extent);
  return reading.kind === 'place' ? reading.to : reading.kind === 'wrong' ? reading.why : null;
};
const step = (step: number) => ({ kind: 'step', step });
const time = (seconds: number) => ({ kind: 'time', time: seconds * 1e9 });

describe('what somebody types to go somewhere', () => {
  test('is a step, up to the last one, in groups of digits or not', () => {
    expect(['0', '1500', ' 12 ', '1 500', '1\u202f500', 'step 812', 'Step812'].map(read)).toEqual([
      ...[0, 1500, 12, 1500, 1500, 812, 812].map(step),
    ]);
    expect(['-5', '12.5', '1e3', '1,5'].map(read)).toEqual(new Array(4).fill('number'));
    expect(['1501', '99999999'].map(read)).toEqual(['step', 'step']);
    expect(['', ' ', '–'].map(read)).toEqual([null, null, null]);
  });

  test('is a record or an operation where it says so', () => {
    expect(['r2999', 'record 7', 'RECORD 1 000'].map(read)).toEqual(
      [2999, 7, 1000].map((record) => ({ kind: 'record', record })),
    );
    expect(['op 99887', 'operation 0', 'op99\u202f999'].map(read)).toEqual(
      [99_887, 0, 99_999].map((operation) => ({ kind: 'operation', operation })),
    );
    expect(['r3000', 'op 100000'].map(read)).toEqual(['record', 'operation']);
  });

  test('is a time of the session with a unit, a fraction or a plus', () => {
    expect(['12.5s', '90 s', '500ms', '1m', '1.5min', '+12s'].map(read)).toEqual(
      [12.5, 90, 0.5, 60, 90, 12].map(time),
    );
    expect(['00:01:02.5', '0:00:12.345', '1:02.5', '+1:02', '+0:01:02'].map(read)).toEqual(
      [62.5, 12.345, 62.5, 62, 62].map(time),
    );
    expect(['2h', '92s', '1:00:00.0'].map(read)).toEqual(['time', 'time', 'time']);
  });

  test('is else a moment of the wall clock, on the day on which the session was there', () => {
    expect(['23:59:11', '23:59', '00:00:10', '2026-11-30 00:00:10.75', '2026-11-30T00:00'].map(read)).toEqual(
      [0.75, 0, 59.75, 60.5, 49.75].map(time),
    );
    // Its first second and minute were begun before it.
    expect(['23:59:10', '2026-11-29 23:59'].map(read)).toEqual([time(0), time(0)]);
    expect(['14:03:22', '00:01:02', '2026-11-29 12:00', '2025-11-29 23:59:20'].map(read)).toEqual(
      new Array(4).fill('clock'),
    );
  });

  test('is nothing else', () => {
    const wrong = ['x', '0x10', 'request 7', '25:00:00', '12:61', 'op', 's', '1:2', 'step -1'];
    expect(wrong.map(read)).toEqual(wrong.map(() => 'form'));
  });
});
