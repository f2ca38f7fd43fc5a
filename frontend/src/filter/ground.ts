/** A filter as it means the same anywhere: the wall clock's times as times of the session. */

import type { Filter, Moment } from './filter';
import { span } from './match';
import type { Origin } from './moment';

const exact = (ns: number | null): Moment | null =>
  ns === null ? null : { ns: Math.max(0, Math.round(ns)), unit: 1 };

export function grounded(filter: Filter, origin: Origin): Filter {
  return filter.map((term) => {
    if (term.field !== 'time') return term;
    const values = term.values.map((value) => {
      const { from, to } = span(value, origin);
      return { from: exact(from), to: exact(to) };
    });
    return { ...term, values };
  });
}
