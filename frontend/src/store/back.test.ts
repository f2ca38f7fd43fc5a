// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest';

vi.stubGlobal(
  'Worker',
  class {
    postMessage() {}
  },
);
const { text } = await import('../text');
const { current } = await import('./sessions');
const { found, look } = await import('./findings');
const { recorded, showRecorded } = await import('./recordedBreakpoints');
const { guide, loadGuide } = await import('./sql');

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test('what failed because the server was away is asked again when it is back, and only then', async () => {
  vi.useFakeTimers();
  current.value = { id: 'a' } as never;
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('away')));
  await Promise.all([loadGuide(), look(), showRecorded()]);
  expect(guide.value).toBe(text.sql.gone);
  expect(found.value).toMatchObject({ state: 'failed' });
  await vi.advanceTimersByTimeAsync(9000);
  expect([guide.value, recorded.value?.state]).toEqual([text.sql.gone, 'failed']);
  const answer = { tables: [], questions: [], limits: {}, breakpoints: [], sessions: [] };
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(answer)));
  await vi.advanceTimersByTimeAsync(2100);
  expect(guide.value).toMatchObject({ tables: [] });
  expect([found.value.state, recorded.value?.state]).toEqual(['told', 'told']);
});
