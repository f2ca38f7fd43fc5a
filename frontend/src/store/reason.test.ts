// @vitest-environment happy-dom
import { signal } from '@preact/signals';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

vi.mock('./sessions', () => ({
  apiUrl: (path: string) => `/api/${path}`,
  current: signal({ id: 'a' }),
  listing: signal({ state: 'ready', sessions: [] }),
  loadSessions: async () => [],
}));
vi.stubGlobal(
  'Worker',
  class {
    postMessage() {}
  },
);
const { predicateFault, setBreakpoint, typePredicate } = await import('./breakpoints');
const { ask, canControl } = await import('./engine');
const { askFor } = await import('./answers');
const { recorded, showRecorded } = await import('./recordedBreakpoints');
const { loadProgramme, programme, startError, startScenario } = await import('./scenarios');
const { guide, loadGuide, outcome, run } = await import('./sql');
const { hello, link } = await import('./ledger');
const { ServerError, ServerRequests } = await import('../worker/source');

function answering(said: string, status = 200): void {
  vi.stubGlobal('fetch', async () => new Response(said, { status }));
}

beforeEach(() => {
  guide.value = null;
  outcome.value = { state: 'none' };
});
afterEach(() => vi.unstubAllGlobals());

/** Successes that say nothing that was asked for, and what is told of each. */
const UNREADABLE = ['Hello', '', 'null', '[]', '7', '{"other": 1}', '{"fault": {}, "result": 1}'];

test.each(UNREADABLE)(
  'an answer that is not as expected is told as that, whoever asked: %s',
  async (said) => {
    answering(said);
    const isTold = expect.stringMatching(/^The server answered what this page can’t read: /);
    expect(await ask('hold')).toEqual({ error: isTold });
    await loadGuide();
    expect(guide.value).toEqual(isTold);
    await run();
    expect(outcome.value).toMatchObject({ state: 'failed', reason: isTold });
    await showRecorded();
    expect(recorded.value).toEqual({ state: 'failed', why: isTold });
    await startScenario('lazy-allocation');
    expect(startError.value).toEqual(isTold);
    await loadProgramme();
    expect(programme.value).toBeNull();
    // A predicate's own answer is that there is no fault, or a whole one.
    typePredicate(`op:${said}`);
    await vi.waitFor(() =>
      expect(predicateFault.value?.message).toMatch(
        /^It could not be checked\. The server answered what this page can’t read: /,
      ),
    );
  },
);

test.each(['Hello', 'null', '[]', '7'])('of what is derived too, and in the worker: %s', async (said) => {
  answering(said);
  const { state, message } = (await askFor('why/memory')) as { state: string; message: string };
  expect([state, message.startsWith('The server answered what this page can’t read')]).toEqual([
    'failed',
    true,
  ]);
  const requests = new ServerRequests('http://here/api/', 'a');
  const asked = [
    requests.about(),
    requests.steps(),
    requests.pieces(),
    requests.requests(),
    requests.contents([1]),
  ];
  for (const each of asked) await expect(each).rejects.toThrow(ServerError);
  answering(said, 500);
  await expect(requests.about()).rejects.toThrow(ServerError);
});

test('a server that fails at a predicate is told in its own words, and nothing of the one before is', async () => {
  answering('{"fault": {"at": 3, "end": 8, "message": "no such operation"}}');
  typePredicate('op:evcit');
  await vi.waitFor(() => expect(predicateFault.value?.at).toBe(3));
  answering('Internal Server Error', 500);
  typePredicate('('.repeat(1500));
  // What was said of another text is not said of this one, for no moment.
  expect(predicateFault.value).toBeNull();
  await vi.waitFor(() =>
    expect(predicateFault.value).toEqual({
      at: null,
      end: 1500,
      message: 'It could not be checked. Internal Server Error',
    }),
  );
});

test('an answer of a text that was typed before says nothing of what stands there now', async () => {
  const waiting: ((response: Response) => void)[] = [];
  vi.stubGlobal('fetch', () => new Promise((resolve) => waiting.push(resolve)));
  typePredicate('op:evcit');
  typePredicate('op:evict');
  waiting[1]!(new Response('{"fault": null}'));
  waiting[0]!(new Response('{"fault": {"at": 3, "end": 8, "message": "no such operation"}}'));
  await new Promise((resolve) => setTimeout(resolve));
  expect(predicateFault.value).toBeNull();
});

test('what could not be checked is for the engine to say', async () => {
  hello.value = { allow_control: true } as never;
  link.value = 'open';
  expect(canControl.value).toBe(true);
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (address: string) => {
    asked.push(address);
    return address.includes('predicate')
      ? new Response('?', { status: 500 })
      : new Response('{"result": {}}');
  });
  typePredicate(' op:evict ');
  await setBreakpoint(1, false);
  expect(asked.at(-1)).toBe('/api/sessions/a/commands');
});
