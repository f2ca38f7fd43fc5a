/** From one event to the next of the same block, request or kind, and the event that is selected. */

import { batch, signal } from '@preact/signals';
import { NONE } from '../ledger/generated/constants';
import { text } from '../text';
import { OPERATION_NAMES } from '../wording/events';
import type { EventRow } from '../worker/answers/events';
import { jumpTo } from './clock';
import { findEvent } from './ledger';
import { say } from './remark';
import { selectBlock, selectRequest, selectSequence } from './selection';

export type Same = 'block' | 'request' | 'kind';

export const selectedEvent = signal<EventRow | null>(null);

/** Counts what is looked for: only the last is gone to. */
let lookedFor = 0;

/** Right behind an operation; of a decision, before the operation that it names; of a gap, behind it. */
export function goToEvent(row: EventRow): void {
  batch(() => {
    selectedEvent.value = row;
    if (row.block !== NONE) selectBlock(row.block);
    if (typeof row.kind !== 'number' && row.kind.kind === 'gap') {
      jumpTo({ kind: 'record', record: row.record });
      return;
    }
    if (row.block === NONE && row.sequence !== NONE) selectSequence(row.sequence);
    else if (typeof row.kind !== 'number') selectRequest(row.kind.request);
    const operation = typeof row.kind === 'number' ? row.op : row.op - 1;
    jumpTo({ kind: 'operation', operation, step: row.step });
  });
}

/** Go to an event, and select it: of those in its record that meet the filter, the one with this operation. */
export async function goToMoment(
  { record, step, op }: { readonly record: number; readonly step: number; readonly op: number },
  filter: string,
): Promise<void> {
  // Where it can't be found, the view goes to where it was.
  const there = (): void => jumpTo({ kind: 'operation', operation: op, step });
  const asked = ++lookedFor;
  for (let index = 0; ; ) {
    const found = await findEvent(`record:${record} ${filter}`, 'later', { record, index });
    if (asked !== lookedFor) return;
    if ('fault' in found || found.row === null || found.row.op > op) return there();
    if (found.row.op === op) return goToEvent(found.row);
    index = found.row.index + 1;
  }
}

/** The filter of what has something in common with an event; null: it has none of that. */
export function filterOfSame(row: EventRow, same: Same): string | null {
  const { kind } = row;
  if (typeof kind !== 'number' && kind.kind === 'gap') return null;
  if (same === 'block') return row.block === NONE ? null : `block:${row.block}`;
  if (same === 'request') {
    const label = /^r\d+/.exec(row.label)?.[0];
    return label === undefined ? null : `owner:${label}`;
  }
  return typeof kind === 'number' ? `op:${OPERATION_NAMES[kind]}` : `decision:${kind.kind}`;
}

/** Go to the nearest event that has something in common with the selected one. */
export async function stepToSame(same: Same, direction: 1 | -1): Promise<void> {
  const row = selectedEvent.peek();
  const filter = row === null ? null : filterOfSame(row, same);
  if (row === null || filter === null) return;
  const from = { record: row.record, index: row.index + (direction > 0 ? 1 : 0) };
  const found = await findEvent(filter, direction > 0 ? 'later' : 'earlier', from);
  // Another one was selected meanwhile.
  if (selectedEvent.peek() !== row) return;
  if ('fault' in found) say(found.fault, true);
  else if (found.row === null) say(text.events.noMore(filter, direction));
  else goToEvent(found.row);
}
