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
  label: 'Timeline: drag to move through the session. Arrow keys move by a step.',
  tip: (first: number, last: number) =>
    first === last ? `step ${n(first)}` : `steps ${n(first)} – ${n(last)}`,
  used: (most: number, cached: number, single: boolean) =>
    single
      ? `${(100 * most).toFixed(1)} % used, ${(100 * cached).toFixed(1)} % cached`
      : `at most ${(100 * most).toFixed(1)} % used, ${(100 * cached).toFixed(1)} % cached on average`,
  tokensTip: (prefill: number, decode: number, single: boolean) =>
    `${n(prefill)} prefill, ${n(decode)} decode${single ? '' : ' tokens in all'}`,
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
  },
  sessionTime: 'Time since the session’s start',
  wallClock: 'Wall clock, in this browser’s zone',
  empty: 'No step yet.',
} as const;
