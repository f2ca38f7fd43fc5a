/** What the transport of the view says: where to go, at which pace, and which landmarks. */

import { clock, integer, moment } from '../format';
import type { Extent, Reading, Wrong } from '../store/destination';
import type { Pace } from '../worker/player';
import { plural } from './plural';

const n = integer;

/** Time of the session, and the wall clock's. */
const both = (ns: number, startUtcUs: number): string =>
  `session time ${clock(ns)} · wall clock ${moment(startUtcUs + ns / 1000).slice(11)}`;

export const transport = {
  operationBack: 'One operation back',
  operationOn: 'One operation on',
  stalled: 'loading',
  stalledTitle: 'The view waits for records that are on their way; it goes on where it is',
  within: (done: number, of: number) => `op ${n(done)} of ${n(of)}`,
  withinTitle: (done: number, of: number, operation: number) =>
    done === 0
      ? `Within the step, before the first of its ${plural(of, 'operation')}: only what was decided before it holds`
      : `Within the step, behind operation ${n(operation)}: ${n(done)} of its ${plural(of, 'operation')} applied`,
} as const;

export const pace = {
  title:
    'How fast the view plays. “As it was” keeps the recorded time, pauses and all; × is times as fast, with no pause longer than a ' +
    'second; steps and operations a second take no notice of time',
  groups: {
    recorded: 'as it was',
    times: 'times the recorded pace, long pauses cut',
    steps: 'step by step',
    operations: 'single operations',
  },
  name: (pace: Pace): string => {
    if (pace.kind === 'recorded') return 'as it was';
    if (pace.kind === 'times') return `× ${pace.factor < 1 ? pace.factor : n(pace.factor)}`;
    return `${n(pace.rate)} ${pace.kind === 'steps' ? 'step' : 'op'}${pace.rate === 1 ? '' : 's'}/s`;
  },
} as const;

/** What was typed, as it will be taken, or why it can't be. */
function told(reading: Exclude<Reading, { kind: 'nothing' }>, typed: string, extent: Extent): string {
  const { lastStep: step, lastRecord: record, lastOp: op, lastTime: ns, startUtcUs: utc } = extent;
  if (reading.kind === 'wrong') return go.wrong(reading.why, typed.trim(), { step, record, op, ns, utc });
  const { to } = reading;
  if (to.kind === 'step') return go.step(to.step);
  if (to.kind === 'operation') return go.operation(to.operation);
  return to.kind === 'record' ? go.record(to.record) : go.time(to.time, utc);
}

export const go = {
  told,
  notInPart: (step: number, from: number, to: number) =>
    `Step ${n(step)} is not in this page: it holds the steps ${n(from)} to ${n(to)}.`,
  title: 'Go to a step, operation, record or time',
  here: (ns: number, startUtcUs: number) => `The view is at ${both(ns, startUtcUs)}.`,
  /** An example of each form, and what it is. */
  forms: (step: number, record: number, op: number, ns: number, startUtcUs: number) =>
    [
      [String(step), 'a step'],
      [`op ${op}`, 'behind an operation, within its step'],
      [`r${record}`, 'a record'],
      [clock(ns), 'time of the session: with a fraction, a unit (12.5s, 3m) or a plus (+1:02)'],
      [
        moment(startUtcUs + ns / 1000).slice(11),
        'wall clock, in this browser’s zone; a date may stand before it',
      ],
    ] as const,
  step: (step: number) => `step ${n(step)}`,
  operation: (operation: number) => `operation ${n(operation)}`,
  record: (record: number) => `record ${n(record)}`,
  time: both,
  enter: '↵ goes there',
  wrong: (
    why: Wrong,
    typed: string,
    last: { step: number; record: number; op: number; ns: number; utc: number },
  ) => {
    switch (why) {
      case 'form':
        return `“${typed}” can’t be read. It may be one of these:`;
      case 'number':
        return `A step is a whole number from 0 to ${n(Math.max(0, last.step))}. A time has a unit: 12.5s.`;
      case 'step':
        return `The last step is ${n(Math.max(0, last.step))}.`;
      case 'record':
        return `The last record is ${n(Math.max(0, last.record))}.`;
      case 'operation':
        return last.op < 0 ? 'There is no operation yet.' : `The last operation is ${n(last.op)}.`;
      case 'time':
        return `The session ends at ${clock(last.ns)}.`;
      case 'clock':
        return `The session lasted from ${moment(last.utc)} to ${moment(last.utc + last.ns / 1000)}.`;
    }
  },
} as const;

export const landmarks = {
  label: 'Landmarks',
  choose: 'Which landmarks the keys n and N go to',
  next: 'Next landmark',
  previous: 'Previous landmark',
  kinds: {
    any: 'any landmark',
    evict: 'evictions',
    copy: 'copies',
    preempted: 'preemptions',
    refused: 'refusals',
    violation: 'violations',
    gap: 'gaps',
    note: 'notes',
  },
  counts: {
    evict: (count: number) => plural(count, 'eviction'),
    copy: (count: number) => plural(count, 'copy', 'copies'),
    preempted: (count: number) => plural(count, 'preemption'),
    refused: (count: number) => `${plural(count, 'request')} refused`,
    violation: (count: number) => plural(count, 'violation'),
    gap: (count: number) => `${plural(count, 'record')} lost`,
    note: () => 'note',
  },
  at: (what: string, step: number) => `${what} · step ${n(step)}`,
  click: 'click goes there',
} as const;
