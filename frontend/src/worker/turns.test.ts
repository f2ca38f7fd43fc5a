import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LEAST, MOST, SHARE, Turns } from './turns';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a view that is dragged seeks in its turn, and is woken for it once', () => {
  const wake = vi.fn();
  const turns = new Turns(wake);
  expect(turns.take(true)).toBe(true);
  vi.advanceTimersByTime(LEAST - 5);
  expect([turns.take(true), turns.take(true)]).toEqual([false, false]);
  expect(wake).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5);
  expect(wake).toHaveBeenCalledTimes(1);
  expect(turns.take(true)).toBe(true);
});

test('who goes somewhere and rests waits for no turn', () => {
  const turns = new Turns(() => {});
  expect([turns.take(false), turns.take(false), turns.take(true)]).toEqual([true, true, false]);
});

test.each([
  [1, LEAST],
  [50, 50 / SHARE],
  [5000, MOST],
])('where seeks take %i ms, turns come to take %i', (took, length) => {
  const turns = new Turns(() => {});
  for (let seek = 0; seek < 20; seek++) {
    turns.take(false);
    vi.advanceTimersByTime(took);
    turns.over();
  }
  turns.take(false);
  vi.advanceTimersByTime(length - 1);
  expect(turns.take(true)).toBe(false);
  vi.advanceTimersByTime(1.1);
  expect(turns.take(true)).toBe(true);
});
