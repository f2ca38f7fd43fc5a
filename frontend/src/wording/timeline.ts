/** What the timeline says. */

import { integer } from '../format';
import { plural } from './plural';

const n = integer;

export const timeline = {
  use: 'KV use',
  tokens: 'tokens',
  marks: 'events',
  all: 'all',
  recent: 'recent',
  label:
    'Timeline: drag to move through the session, with Shift to show those steps alone. Arrow keys move by a step, + and − zoom, 0 shows all.',
  noRequests: 'No request in these steps',
  rows: {
    shown: (count: number, total: number) => `${n(count)}/${n(total)} requests`,
    title: (first: number, last: number, total: number) =>
      `Rows ${n(first)} to ${n(last)} of the ${plural(total, 'request')} that are there in these steps. Shift and the wheel, or Page Down, show others.`,
  },
  clickRow: 'Click to select; Shift and the wheel: other requests',
  does: (state: string, tokens: number) =>
    state === 'running'
      ? tokens > 0
        ? `prefill of ${plural(tokens, 'token')}`
        : 'running'
      : state === 'mixed'
        ? 'running, or preempted: more can be told of fewer steps'
        : state === 'waiting'
          ? 'waits'
          : 'preempted, waits',
  ends: { finished: 'finished', aborted: 'aborted', refused: 'refused' },
  minimap: {
    label: 'The steps that the timeline shows, of the whole session',
    title: 'Drag to move, its edges to show more or fewer steps; double click shows all',
    shown: (first: number, last: number) => `steps ${n(first)} to ${n(last)}`,
  },
  tip: (first: number, last: number) =>
    first === last ? `step ${n(first)}` : `steps ${n(first)} – ${n(last)}`,
  used: (most: number, cached: number, single: boolean) =>
    single
      ? `${(100 * most).toFixed(1)} % used, ${(100 * cached).toFixed(1)} % cached`
      : `at most ${(100 * most).toFixed(1)} % used, ${(100 * cached).toFixed(1)} % cached on average`,
  tokensTip: (prefill: number, decode: number, single: boolean) =>
    `${n(prefill)} prefill, ${n(decode)} decode${single ? '' : ' tokens in all'}`,
  hitRate: 'hit rate',
  hitRateTitle:
    'Of the tokens of the requests that were admitted, how many the prefix cache had; those that came back after a preemption are left out, as in vLLM',
  hitsTip: (hits: number, queries: number) =>
    Number.isNaN(queries)
      ? 'hit rate not recorded'
      : queries === 0
        ? 'no request admitted'
        : `hit rate ${((100 * hits) / queries).toFixed(1)} %, ${n(hits)} of ${plural(queries, 'token')}`,
  partly: (known: number) => `only ${plural(known, 'step')} of them known`,
  filling: 'being loaded',
  evicted: (count: number) => plural(count, 'eviction'),
  copied: (count: number) => plural(count, 'copy', 'copies'),
  preempted: (count: number) => plural(count, 'preemption'),
  legend: {
    evict: 'evictions',
    copy: 'copies',
    preempt: 'preemptions',
    prefill: 'prefill',
    decode: 'decode',
    waits: 'waits',
  },
  sessionTime: 'Time since the session’s start',
  wallClock: 'Wall clock, in this browser’s zone',
  empty: 'No step yet.',
} as const;
