/**
 * What answers to *why* say (docs/why.md). In braces stands what is shown as a link, or as a figure of its own:
 * {who} a request, {life} the number of a block, {at} a place in the session.
 */

import { duration, integer } from '../format';
import { plural } from './plural';

const n = integer;
const blocks = (count: number): string => plural(count, 'block');
const steps = (count: number): string => plural(count, 'step');

export const why = {
  gone: 'The server does not answer: is it running?',
  ended: 'The question was ended.',
  noSession: 'No session is open.',
  notInPage:
    'This page holds no answer to this: only those that were made when it was exported. On the recording itself, `kvarium why` has them all.',

  title: 'Why',
  questions: 'Questions',
  names: {
    evicted: 'evicted',
    preempted: 'preempted',
    waits: 'waits',
    missed: 'missed',
    memory: 'memory',
    leaks: 'leaks',
  },
  asks: {
    evicted: 'Why was block {life} evicted?',
    evictedOp: 'Why this eviction, operation {op}?',
    preempted: 'Why was {who} preempted?',
    waits: 'Why does {who} wait?',
    missed: 'Why did the prefix of {who} miss?',
    memory: 'Where does the memory go?',
    leaks: 'Is anything leaking?',
  },
  ask: 'why?',
  askTitle: 'Why? What the recording knows of the reasons (y)',
  upTo: (step: number) => `the last time up to step ${n(step)}`,
  after: (step: number) => `after step ${n(step)}`,
  asOf: (step: number) => `asked at step ${n(step)}`,
  again: 'ask again',
  againAt: (step: number) => `ask at step ${n(step)}`,
  close: 'Close the answer',
  asking: (seconds: number) => `asking … ${n(seconds)} s`,
  stop: 'Stop',
  notSo: 'Not so, or not recorded',
  tooMany: 'Too many ask at once',
  tooLong: 'The question was ended',
  noAnswer: 'No answer',
  unknown: 'not recorded',
  nobodyKnown: 'a request that is not recorded',
  more: (count: number) => `${n(count)} more`,
  goThere: (step: number, op: number) =>
    `Go to step ${n(step)}, operation ${n(op)}, and select what happened there`,
  goToRecord: (record: number) => `Go to record ${n(record)}`,
  place: (step: number, op: number) => `step ${n(step)}, op ${n(op)}`,
  steps,
  span: (count: number, ns: number) => `${steps(count)} (${duration(ns)})`,

  eviction: {
    allocate: (needed: number) => `{who} took ${blocks(needed)} in this step, and this was one of them.`,
    head: (needed: number) =>
      `{who} took ${blocks(needed)} in this step, and this was next in the free queue.`,
    reset: 'The prefix cache was reset.',
    failed_step: 'The forward that should have computed its content failed.',
    unscheduled: 'Its request was preempted in the very step that had scheduled it.',
    otherwise: (cause: string) => `The cause is ${cause}.`,
    when: 'when',
    lost: 'lost',
    content: (content: number) => `content ${n(content)}`,
    asked: 'asked by',
    command: (name: string, by: string) => `${name}, by ${by}`,
    unnamed: 'somebody unnamed',
    queue: 'free queue',
    length: (length: number) => `${blocks(length)} in it`,
    first: 'this one was its head',
    before: (before: number) => `${n(before)} before this one`,
    taken: (taken: number) => `${n(taken)} of them taken in this step too`,
    passedOver: (count: number) => `${n(count)} passed over`,
    queueTitle: (length: number, before: number) =>
      `The free queue, head at the left: ${blocks(length)}, ${n(before)} before this one`,
    empty: (behind: number) =>
      `${blocks(behind)} behind it held no content: taking one would have lost nothing`,
    queueHead: 'its head',
    held: (content: number) => `held content ${n(content)}`,
    heldNothing: 'held nothing',
    inUse: 'it was in use, not in the free queue',
    idle: 'idle',
    idleSince: (operation: string) => `since its ${operation} at {at}`,
    hits: 'hits',
    hit: (times: number) => `${plural(times, 'time')} in this life`,
    neverHit: 'never in this life',
    copies: 'also in',
    copiesTold: 'block {lives}: so nothing was lost',
    noCopy: 'no other block: it left the cache',
    wanted: 'wanted again',
    notWanted: (through: number) => `by nobody, up to record ${n(through)}`,
    wantedBy: (times: number) => `${plural(times, 'time')}:`,
    hows: { missed: 'missed', computed: 'computed', hit: 'hit' },
    missed: 'by {who} at {at}',
    resumed: 'as it resumed after a preemption',
    recomputed: 'computed again in block {life} at {at}',
    computed: 'again by {who} in block {life} at {at}: it had missed a block before it',
    hitIn: 'by {who} in block {life} at {at}',
  },
} as const;
