import { describe, expect, test } from 'vitest';
import type { Step } from '../ledger/generated/types';
import type { Place } from './place';
import { type Pace, Player } from './player';
import { Series } from './series';

/** Steps of 20 ms with 10 operations each; after the tenth comes a pause of a minute. */
function series(): Series {
  const made = new Series();
  for (let step = 0; step < 40; step++) {
    const sealed = step * 20e6 + (step >= 10 ? 60e9 : 0);
    made.place({ type: 'step', step, record: 1 + 2 * step, op: 10 * step, sealed } as Step);
  }
  return made;
}

/** Where the view is sent within so many ms, a look each 10 ms, beginning behind step 0. */
function played(pace: Pace, ms: number): Place {
  const player = new Player(series(), pace, { step: 0, operation: 9, time: 0 }, 0);
  let place = player.next(0, true);
  for (let now = 10; now <= ms; now += 10) place = player.next(now, true);
  return place;
}
const stepAfter = (pace: Pace, ms: number): number => played(pace, ms).step;

describe('a view that plays', () => {
  test('is where the session was then, so many times as fast', () => {
    expect(stepAfter({ kind: 'recorded' }, 105)).toBe(5);
    expect(stepAfter({ kind: 'times', factor: 1 }, 105)).toBe(5);
    expect(stepAfter({ kind: 'times', factor: 0.1 }, 1010)).toBe(5);
    expect(stepAfter({ kind: 'times', factor: 2 }, 90)).toBe(9);
  });

  test('waits out a pause as it was, and cuts it to a second at any other pace', () => {
    expect(stepAfter({ kind: 'recorded' }, 5000)).toBe(9);
    expect(stepAfter({ kind: 'recorded' }, 60_210)).toBe(10);
    for (const factor of [0.1, 1, 10]) {
      const before = 180 / factor;
      expect(stepAfter({ kind: 'times', factor }, before + 900)).toBe(9);
      expect(stepAfter({ kind: 'times', factor }, before + 1050)).toBeGreaterThanOrEqual(10);
    }
    // A minute is less than a second at 1000 times the pace.
    expect(stepAfter({ kind: 'times', factor: 1000 }, 50)).toBe(9);
    expect(stepAfter({ kind: 'times', factor: 1000 }, 70)).toBe(39);
  });

  test('goes by steps or by operations without regard to time, through every step', () => {
    expect(stepAfter({ kind: 'steps', rate: 4 }, 3010)).toBe(12);
    expect(played({ kind: 'operations', rate: 4 }, 260)).toEqual({ step: 1, operation: 10 });
    expect(played({ kind: 'operations', rate: 64 }, 2010)).toEqual({ step: 13, operation: 137 });
  });

  test('passes nothing over while the view has not come, and says when that takes long', () => {
    const player = new Player(series(), { kind: 'times', factor: 1 }, { step: 0, operation: 9, time: 0 }, 0);
    expect(player.next(40, true).step).toBe(2);
    let now = 40;
    for (; now < 400; now += 10) player.next(now, false);
    // It ran on for a moment, and stands since.
    expect(player.next(now, false).step).toBeLessThanOrEqual(7);
    expect(player.stalled).toBe(false);
    player.next(600, false);
    expect(player.stalled).toBe(true);
    const stood = player.next(700, true).step;
    expect(player.stalled).toBe(false);
    // It goes on from there, not from where the time would be.
    expect(player.next(720, true).step - stood).toBeLessThanOrEqual(1);
    expect(stood).toBeLessThanOrEqual(13 - 1);
  });

  test('wants ready what it will show in two seconds', () => {
    const player = new Player(series(), { kind: 'steps', rate: 4 }, { step: 3, operation: 39, time: 0 }, 0);
    expect(player.ahead).toBe(11);
  });
});
