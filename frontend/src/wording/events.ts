/** What the list of events says of operations and decisions. */

import { integer } from '../format';
import { Cause, NONE, Operation, Pin } from '../ledger/generated/constants';
import type { EventRow } from '../worker/answers/events';
import { plural } from './plural';
import { waiting } from './scheduling';
import { stop } from './stop';

const n = integer;

function names(codes: Readonly<Record<string, number>>): string[] {
  const list: string[] = [];
  for (const [name, code] of Object.entries(codes)) list[code] = name;
  return list;
}

export const OPERATION_NAMES = names(Operation);
export const CAUSE_NAMES = names(Cause).map((name) => name.replace('_', ' '));
export const PIN_NAMES = names(Pin).map((name) => name.replace('_', ' '));

export const events = {
  empty: 'Nothing in this session meets this filter.',
  emptyStep: 'Nothing happened yet.',
  goTo: (row: EventRow) =>
    `${typeof row.kind === 'number' ? `Go to behind operation ${n(row.op)}` : `Go to before operation ${n(row.op)}, where this holds`} · record ${n(row.record)}`,
  columns: {
    record: 'record',
    step: 'step',
    time: 'time',
    kind: 'event',
    block: 'block',
    owner: 'for',
    why: 'what',
  },
  searching: (from: number, to: number) => `searched from step ${n(from)} to ${n(to)} …`,
  on: (op: number) => `operation ${n(op)} …`,
  fault: (why: string) => `The rest could not be searched: ${why}.`,
  newer: (count: number) => `${n(count)} new ↓`,
  newerTitle: 'Follow the newest events again',
  back: 'to the view',
  backTitle: 'Bring the list to where the view stands',
  place: 'The place in the session',
  at: (op: number, last: number) => `operation ${n(op)} of ${n(last)}`,
  same: { block: 'block', request: 'request', kind: 'kind' },
  sameTitle: (what: string, direction: 1 | -1, key: string) =>
    `${direction > 0 ? 'Next' : 'Previous'} event of the same ${what}${key === '' ? '' : ` (${key})`}`,
  selectFirst: 'Click an event to step from it to others of its block, request or kind',
  noMore: (filter: string, direction: 1 | -1) =>
    `There is no ${direction > 0 ? 'later' : 'earlier'} event ${filter}.`,
} as const;

export const decisions = {
  gap: 'gap',
  submitted: 'submitted',
  admitted: 'admitted',
  sequence_created: 'sequence',
  sequence_dropped: 'dropped',
  hypothesis: 'answer',
  scheduled: 'scheduled',
  waiting: 'waiting',
  preempted: 'preempted',
  finished: 'finished',
  aborted: 'aborted',
  refused: 'refused',
} as const;

/** One line that says what an operation or decision did. */
export function describe(row: EventRow, blockSize: number): string {
  if (typeof row.kind !== 'number') {
    const d = row.kind;
    switch (d.kind) {
      case 'submitted':
        return `${d.name} · ${n(d.prompt_tokens)} + ${n(d.max_tokens)} tokens${(d.n ?? 1) > 1 ? `, n = ${d.n}` : ''}`;
      case 'admitted':
        return `${n(d.tokens)} tokens, ${n(d.hit ?? 0)} hit${d.cap_applied === true ? ' (one left to compute)' : ''}`;
      case 'sequence_created':
        return d.parent == null ? 'first of its request' : 'forked';
      case 'sequence_dropped':
        return d.reason == null
          ? 'ended before its request'
          : `ended before its request: ${d.reason}${stop(d.stop_reason)}`;
      case 'hypothesis':
        return `${n(d.tokens + 1)} tokens, ${d.reason}, score ${d.score.toFixed(3)}`;
      case 'scheduled':
        return `prefill of ${n(d.tokens)} from ${n(d.start)}`;
      case 'waiting':
        return waiting(d);
      case 'preempted':
        return `for r${d.victim_of} · ${plural(d.blocks, 'block')} freed, ${n(d.tokens)} tokens to recompute`;
      case 'finished':
        return d.message == null ? `${d.reason}${stop(d.stop_reason)}` : `${d.reason}: ${d.message}`;
      case 'aborted':
        return d.asked_by ? `by ${d.asked_by}` : '';
      case 'refused':
        return d.message;
      case 'gap':
        return `records ${n(d.first)} to ${n(d.last)} are lost: ${d.reason}`;
    }
  }
  const cause = CAUSE_NAMES[row.cause] ?? `cause ${row.cause}`;
  const at = row.position === NONE ? ', pin' : ` at ${n(row.position)}`;
  switch (row.kind) {
    case Operation.allocate:
      return `${cause}${at}`;
    case Operation.evict:
      return `${cause} · content ${n(row.value)}, ${plural(row.before, 'hit')}`;
    case Operation.reuse:
      return `${cause}${at}, from the queue`;
    case Operation.copy:
      return `of block ${row.value}${at}`;
    case Operation.fill:
      return `${cause} · ${row.before} → ${row.value} of ${blockSize}`;
    case Operation.cache:
      return `content ${n(row.value)}`;
    case Operation.free:
      return `${cause}${at}, ticket ${n(row.value)}`;
    default:
      return `${cause}${at}`;
  }
}
