/**
 * Following a session without its text: which numbers of records may be missing. The twin of `kvarium_ledger.without_text`.
 *
 *     step 7    text 8    step 9    text 10    control 11       the session
 *     step 7              step 9               control 11       what a viewer without text gets
 */

import type { AnyRecord } from './fold';
import type { Text } from './generated/types';

/** What has to be known of the record before: of a keyframe that the server made, its number may be that of a step. */
export interface Before {
  readonly record: number;
  readonly step: number;
  readonly mayHaveText: boolean;
}

export function beforeOf(record: AnyRecord): Before | null {
  if (record.type === 'step') return { record: record.record, step: record.step, mayHaveText: true };
  if (record.type === 'keyframe')
    return { record: record.record, step: record.step, mayHaveText: record.audited !== true };
  return null;
}

/**
 * The text record that a viewer without text was not sent between two records, with nothing in it; null: there was none.
 * To a fold an empty text stands for any; what else is missing stays a violation of the order.
 */
export function textBetween(last: Before | null, following: AnyRecord): Text | null {
  const number = following.type === 'gap' ? following.first : following.record;
  if (last === null || !last.mayHaveText || number !== last.record + 2) return null;
  return { type: 'text', record: last.record + 1, step: last.step };
}
