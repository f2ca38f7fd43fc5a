import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import vectors from '../../../tests/vectors/filters.json';
import { printFilter } from './print';
import { readFilter } from './read';

describe('a filter', () => {
  test('is read as Python reads it, and written as Python writes it', () => {
    expect(vectors.length).toBeGreaterThan(300);
    for (const { text, filter, fault, printed } of vectors) {
      const read = readFilter(text);
      if (filter === undefined) expect(read, text).toEqual({ fault });
      else {
        expect(read, text).toEqual({ filter });
        expect('filter' in read && printFilter(read.filter)).toBe(printed);
      }
    }
  });

  test('that is printed is read as the same', () => {
    const pieces = [
      'op:',
      'evict',
      'block:',
      '4',
      '..',
      '#',
      'owner:',
      '"',
      ' ',
      ',',
      '-',
      'time:',
      '3s',
      '\\',
      'é',
    ];
    const typed = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3 })), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(typed, (parts) => {
        const text = parts.join('');
        const read = readFilter(text);
        if ('fault' in read) {
          const { at, end } = read.fault;
          expect(0 <= at && at <= end && end <= text.length).toBe(true);
        } else expect(readFilter(printFilter(read.filter))).toEqual(read);
      }),
      { numRuns: 2000 },
    );
  });
});
