/** What the tables and the scheduler’s panel say, and why a request waits. */

import { integer } from '../format';
import type { Waiting } from '../ledger/generated/types';
import { plural } from './plural';

const n = integer;

export const tables = {
  /** In parts, each of which is shown whole or not at all. */
  count: (shown: string, total: number, requests: number): readonly string[] =>
    total === 0 ? [] : [`${shown} of ${n(total)}`, `· ${plural(requests, 'request')}`],
  tokens: (tokens: number) => `${n(tokens)} tok`,
  decode: 'decode',
  prefill: (done: number, all: number) => `prefill ${n(done)} / ${n(all)}`,
  ended: (how: string) => `ended · ${how}`,
  copy: (source: number, target: number) => `copied ${source} → ${target}`,
  copyTitle: (source: number, target: number) =>
    `Copy on write in this step: block ${source} was shared, so it writes into a copy of it, block ${target}`,
  fork: (parent: string) => `forked from ${parent}`,
  tools: 'Which rows, and in which order',
  having: 'Rows with these words',
  havingHint: 'filter',
  state: 'State',
  states: {
    running: 'running',
    waiting: 'waiting',
    preempted: 'preempted',
    finished: 'finished',
    any: 'any state',
  },
  order: 'Order',
  orders: {
    arrival: 'arrival',
    firstToken: 'first token',
    preemptions: 'preempted',
    blocks: 'blocks',
  },
  ascends: 'Smallest first: turn the order',
  descends: 'Largest first: turn the order',
  blockCount: (blocks: number) => plural(blocks, 'block'),
  firstToken: (after: string) => `first token ${after}`,
  noToken: 'no token yet',
  preempted: (times: number) => (times === 0 ? 'never preempted' : `preempted ${n(times)} ×`),
  notRecorded: 'not recorded',
  noRows: 'No row is as it is asked for.',
  allRows: 'Show all that hold blocks',
  fault: (why: string) => `What came before is not known: ${why}.`,
  more: (count: number) => `${n(count)} more`,
  hole: 'no block here: it was freed',
  empty: 'No sequence holds a block.',
  emptyAdvice: 'Block tables appear when a request is admitted.',
  write: ['Press ', ' to write a prompt.'],
  blocks: (told: readonly string[]) => (told.length === 0 ? 'no blocks' : `blocks ${told.join(' ')}`),
  noBlock: 'none',
  chip: (block: number, state: string, count: number, filled: number, size: number) =>
    `block ${block} · ${state}${count > 1 ? ` by ${count}` : ''} · filled ${filled} of ${size}`,
} as const;

export const scheduler = {
  running: 'running',
  waiting: 'waiting',
  budget: 'token budget',
  ofBudget: (used: number, budget: number) => (budget > 0 ? `${n(used)} of ${n(budget)}` : n(used)),
  runningOf: (count: number, most: number | null) => (most === null ? n(count) : `${n(count)} of ${n(most)}`),
  prefill: (tokens: number) => `${n(tokens)} prefill`,
  decode: (tokens: number) => `${n(tokens)} decode`,
  thisStep: (step: number) => `Step ${n(step)}`,
  didNothing: 'did nothing to any block',
  notLoaded: 'The record of this step is not loaded.',
  times: ['schedule', 'forward', 'sample', 'seal'],
  admitted: (tokens: number, hit: number) =>
    `admitted · ${n(tokens)} tokens${hit > 0 ? `, ${n(hit)} cached` : ''}`,
  preempted: (victim: string, blocks: number, tokens: number) =>
    `preempted for ${victim} · ${plural(blocks, 'block')} freed, ${n(tokens)} tokens to recompute`,
  kinds: { prefill: 'prefill', decode: 'decode', copy: 'copied', evict: 'evicted' },
  tokens: (tokens: number) => `${n(tokens)} tok`,
  chunk: (start: number, tokens: number) => `${plural(tokens, 'token')} from place ${n(start)} on`,
  andMore: (count: number) => `and ${n(count)} more`,
  ended: (how: string) => `ended · ${how}`,
  noneWaiting: 'Nobody waits.',
  more: (count: number) => `and ${n(count)} more`,
  decisions: 'Decisions',
  operations: 'Operations',
} as const;

/** With a step: the reason was told at that one, and its figures are of then. */
export const waiting = (reason: (Waiting & { readonly step?: number }) | null): string => {
  if (reason === null) return 'reason not in the loaded part';
  switch (reason.reason) {
    case 'blocks': {
      const { needs, free, step } = reason;
      const need = `needs ${plural(needs ?? 0, 'block')}`;
      // In the midst of that step: others may have been freed later in it.
      if (step !== undefined) return `${need}; step ${n(step)} found ${n(free ?? 0)} free`;
      return `${need}, ${n(free ?? 0)} free`;
    }
    case 'fragmentation': {
      const { needs, free, largest } = reason;
      return `needs ${plural(needs ?? 0, 'block')} in one run; ${n(free ?? 0)} free, at most ${n(largest ?? 0)} together`;
    }
    case 'budget':
      return 'the step’s token budget is used up';
    case 'max_num_seqs':
      return 'as many run as may';
    case 'behind':
      return `behind r${reason.behind ?? '?'}${reason.needs != null ? `; needs ${n(reason.needs)}` : ''}`;
  }
};
