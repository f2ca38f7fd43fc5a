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
  copied: 'copied its last block',
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
