import { expect, test } from 'vitest';
import { Fold } from '../../ledger/fold';
import type { Hello, Keyframe } from '../../ledger/generated/types';
import { schedulerAnswer } from './scheduler';

const DIGEST = { blocks: new Uint8Array(8), tables: new Uint8Array(8), requests: new Uint8Array(8) };

test('those that wait are told in the order in which they will be served: precedence, then place', () => {
  const fold = new Fold(4, 16);
  const row = (request: number, place: number, precedence?: number) => ({
    request,
    name: `r${request}`,
    state: 'waiting' as const,
    place,
    prompt_tokens: 4,
    max_tokens: 4,
    ...(precedence === undefined ? {} : { precedence }),
  });
  const keyframe = {
    type: 'keyframe',
    record: 0,
    step: 7,
    time: 0,
    utc_us: 0,
    op: 0,
    digest: DIGEST,
    requests: [row(1, 0, 599), row(2, 1, 40), row(3, 2, 600), row(4, -1, 599), row(5, 3)],
  } as unknown as Keyframe;
  fold.load(keyframe);
  const answer = schedulerAnswer(fold, { config: { max_num_seqs: 8 } } as unknown as Hello, null);
  expect(answer.waiting.map(({ request }) => request)).toEqual([5, 2, 4, 1, 3]);
});
