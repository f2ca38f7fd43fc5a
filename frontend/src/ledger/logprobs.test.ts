import { expect, test } from 'vitest';
import { columnsOf } from '../../tests/talk';
import { likely } from './logprobs';

test('what the columns tell of sampled tokens is read by their places', () => {
  const told = [
    [0, { logprob: -0.125, rank: 1, top: [[9, -0.125]] }],
    [
      2,
      {
        logprob: -2.5,
        rank: 3,
        top: [
          [4, -0.5],
          [17, -1.75],
        ],
      },
    ],
    [5, { logprob: -1, rank: 2, top: [] }],
  ] as const;
  expect([...likely(columnsOf(told))]).toEqual(told);
  expect(likely(undefined).size).toBe(0);
  expect(likely({}).size).toBe(0);
});

test('columns that do not agree are no logprobs', () => {
  const columns = columnsOf([[0, { logprob: -1, rank: 1, top: [[1, -1]] }]]);
  for (const name of ['logprob', 'rank', 'count', 'top_token', 'top_logprob'] as const)
    expect(() => likely({ ...columns, [name]: new Uint8Array(0) }), name).toThrow(`logprobs.`);
  expect(() => likely({ ...columns, rank: new Uint8Array(3) })).toThrow('not a multiple of 4');
});
