import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BETWEEN_SEEKS, Turns } from './turns';

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
  vi.advanceTimersByTime(BETWEEN_SEEKS - 5);
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
