// @vitest-environment happy-dom
import { signal } from '@preact/signals';
import { afterEach, expect, test, vi } from 'vitest';

vi.mock('./sessions', () => ({
  apiUrl: (path: string) => `/api/${path}`,
  current: signal({ id: 'a/b' }),
}));

import { text } from '../text';
import { askFor } from './answers';
import { current } from './sessions';

afterEach(() => vi.unstubAllGlobals());

function answering(body: string, status = 200): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (address: string) => {
    asked.push(address);
    return new Response(body, { status });
  });
  return asked;
}

test('a question is asked of the open session by its link, and what comes is the answer', async () => {
  const asked = answering('{"step": 9}');
  expect(await askFor('why/memory?step=9')).toEqual({ state: 'told', answer: { step: 9 } });
  expect(asked).toEqual(['/api/sessions/a%2Fb/why/memory?step=9']);
});

test('who refuses says why in its own words, with the status', async () => {
  answering('{"detail": "r17 does not wait after step 9: it runs"}', 404);
  expect(await askFor('why/waits?of=r17')).toEqual({
    state: 'failed',
    message: 'r17 does not wait after step 9: it runs',
    status: 404,
    instead: null,
  });
});

test('without a server, without a session and after an end there is a word, and nothing is thrown', async () => {
  const gone = async (): Promise<never> => {
    throw new TypeError('Failed to fetch');
  };
  vi.stubGlobal('fetch', gone);
  expect(await askFor('findings')).toEqual({
    ...{ state: 'failed', message: text.why.gone, status: null, instead: null },
  });
  const abort = new AbortController();
  abort.abort();
  expect(await askFor('findings', abort.signal)).toMatchObject({ message: text.why.ended });
  (current as unknown as { value: unknown }).value = null;
  expect(await askFor('findings')).toMatchObject({ state: 'failed', message: text.why.noSession });
});
