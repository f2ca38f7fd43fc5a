import { expect, test } from 'vitest';
import { Fold } from '../../ledger/fold';
import type { Keyframe } from '../../ledger/generated/types';
import { RequestMemory } from '../../ledger/requests';
import { Series } from '../series';
import type { Requests } from '../source';
import { Texts } from '../texts';
import { requestAnswer } from './request';
import { Sayings } from './said';

const u32 = (...values: number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);
const lane = new Uint8Array(8);

test('a request has written what the longest of its samples has, though the first has ended', () => {
  const memory = new RequestMemory();
  const fold = new Fold(4, 16, undefined, memory);
  const texts = new Texts(false, 16, memory, {} as Requests, () => {});
  // r0.0 has ended, and holds no block any more; r0.1 decodes.
  fold.load({
    type: 'keyframe',
    record: 3,
    step: 2,
    time: 0,
    utc_us: 0,
    op: 9,
    digest: { blocks: lane, tables: lane, requests: lane },
    requests: [{ request: 0, name: 'x', state: 'running', place: 0, prompt_tokens: 20, max_tokens: 9, n: 2 }],
    sequences: [
      { sequence: 0, request: 0, index: 0 },
      { sequence: 1, request: 0, index: 1 },
    ],
    blocks: { filled: u32(16, 6, 0, 0), count: u32(1, 1, 0, 0) },
    tables: { sequence: u32(1, 1), position: u32(0, 1), block: u32(0, 1) },
  } as unknown as Keyframe);
  const sources = { texts, sayings: new Sayings(texts), series: new Series(), copied: new Map() };
  const answer = requestAnswer(fold, 0, null, null, sources)!;
  expect(answer.sequences.map(({ tokens }) => tokens)).toEqual([0, 22]);
  expect(answer.written).toBe(22);
});
