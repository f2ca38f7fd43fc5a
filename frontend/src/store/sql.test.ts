// @vitest-environment happy-dom
import { describe, expect, test, vi } from 'vitest';

vi.mock('./sessions', async () => {
  const { signal } = await import('@preact/signals');
  return { apiUrl: (path: string) => path, current: signal(null) };
});

import { linkOf, offsetOf, type Rows, sorted } from './sql';

const answer: Rows = {
  columns: ['n', 'name'],
  types: ['BIGINT', 'VARCHAR'],
  rows: [
    [10, 'b'],
    [null, 'run 10'],
    ['9007199254740993', null],
    [9, 'run 9'],
  ],
  truncated: false,
  elapsed_ms: 1,
};

describe('the answer to a query', () => {
  test('is put in order by a column, numbers by their size and NULL last', () => {
    expect(sorted(answer, null)).toEqual([0, 1, 2, 3]);
    expect(sorted(answer, { column: 0, descends: false })).toEqual([3, 0, 2, 1]);
    expect(sorted(answer, { column: 0, descends: true })).toEqual([2, 0, 3, 1]);
    expect(sorted(answer, { column: 1, descends: false })).toEqual([0, 3, 1, 2]);
  });
  test('is put in order by numbers that are none, too', () => {
    const doubles = {
      ...answer,
      types: ['DOUBLE', 'VARCHAR'],
      rows: ['NaN', 1.5, 'Infinity', null, '-Infinity', 'NaN'].map((n) => [n, '']),
    };
    expect(sorted(doubles, { column: 0, descends: false })).toEqual([4, 1, 2, 0, 5, 3]);
    expect(sorted(doubles, { column: 0, descends: true })).toEqual([0, 5, 2, 1, 4, 3]);
  });
  test('leads where a column names a step, an operation, a block, a request or a sequence', () => {
    expect(['step', 'ended_step', 'op', 'block', 'victim_of', 'sequence', 'content'].map(linkOf)).toEqual([
      'step',
      'step',
      'op',
      'block',
      'request',
      'sequence',
      null,
    ]);
  });
  test('has the place of a fault in what was written', () => {
    const sql = 'SELECT 1\nFROM nowhere';
    expect(sql.slice(offsetOf(sql, { line: 2, column: 6 }))).toBe('nowhere');
  });
});
