import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sealFrame } from '../ledger/frame';
import type { Keyframe } from '../ledger/generated/types';
import { Bases } from './bases';
import { LookAhead } from './lookAhead';

const keyframe = (step: number): Uint8Array =>
  sealFrame({
    type: 'keyframe',
    record: 10 * step,
    step,
    blocks: { count: new Uint8Array(9) },
  } as unknown as Keyframe);

const LONG = { firstStep: 0, lastStep: 700, lastOp: 100 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server that takes 100 ms for an answer. */
function server(fails = false) {
  const asked: number[] = [];
  let [open, most] = [0, 0];
  const seek = (step: number, since: number | null, signal: AbortSignal, ahead?: number) =>
    new Promise<Uint8Array[]>((resolve, reject) => {
      expect([since, ahead]).toEqual([null, 0]);
      asked.push(step);
      most = Math.max(most, ++open);
      const end = (act: () => void): void => {
        open--;
        act();
      };
      const timer = setTimeout(
        () => end(() => (fails ? reject(new Error('no')) : resolve([keyframe(step)]))),
        100,
      );
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        end(() => reject(new DOMException('aborted', 'AbortError')));
      });
    });
  return { asked, seek, most: () => most };
}

test('bases are fetched one at a time, spread over the steps, once the reader rests', async () => {
  const { asked, seek, most } = server();
  const bases = new Bases(1000);
  const ahead = new LookAhead({ seek }, bases, () => false);
  ahead.begin(LONG, 50);
  expect(ahead.told.left).toBe(7);
  await vi.advanceTimersByTimeAsync(500);
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(asked).toEqual([0, 100, 200, 300, 400, 500, 600]);
  expect([most(), bases.count, ahead.told.left]).toEqual([1, 7, 0]);
});

test('nothing is fetched while the reader moves; what was begun is given up, and fetched later', async () => {
  const { asked, seek } = server();
  const bases = new Bases(1000);
  let moving = false;
  const ahead = new LookAhead({ seek }, bases, () => moving);
  ahead.begin(LONG, 50);
  await vi.advanceTimersByTimeAsync(850);
  expect([asked, bases.count]).toEqual([[0, 100, 200], 2]);
  moving = true;
  ahead.rest();
  await vi.advanceTimersByTimeAsync(5000);
  expect([asked.length, bases.count, ahead.told.left]).toEqual([3, 2, 5]);
  moving = false;
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked.slice(3)).toEqual([200, 300, 400, 500, 600]);
  expect([bases.count, ahead.told.left]).toEqual([7, 0]);
});

test('a session that is closed asks for nothing more, nor does one that was refused', async () => {
  const closed = server();
  const ahead = new LookAhead({ seek: closed.seek }, new Bases(1000), () => false);
  ahead.begin(LONG, 50);
  await vi.advanceTimersByTimeAsync(650);
  ahead.close();
  await vi.advanceTimersByTimeAsync(5000);
  expect([closed.asked, ahead.told.left]).toEqual([[0], 0]);

  const failing = server(true);
  const refused = new LookAhead({ seek: failing.seek }, new Bases(1000), () => false);
  refused.begin(LONG, 50);
  await vi.advanceTimersByTimeAsync(5000);
  expect([failing.asked, refused.told.left]).toEqual([[0], 0]);
});

test('nothing is fetched of a short recording, nor where nothing would be kept', async () => {
  const { asked, seek } = server();
  new LookAhead({ seek }, new Bases(1000), () => false).begin(LONG, 51);
  new LookAhead({ seek }, new Bases(0), () => false).begin(LONG, 50);
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked).toEqual([]);
});
