/** What is said of the prefix tree. */

import { integer } from '../format';
import type { FoundAnswer, TreeRow } from '../worker/answers/tree';
import { plural } from './plural';

const n = integer;

/** How many blocks go before one in the free queue. */
function place(rank: number): string {
  return rank === 0 ? 'next to go' : `${n(rank)} ahead`;
}

export const tree = {
  label: 'Prefix tree: what blocks hold, beneath what it follows',
  columns: {
    text: 'text',
    length: 'length',
    below: 'blocks',
    copies: 'copies',
    hits: 'hits',
    holders: 'held by / queue',
    idle: 'idle',
  },
  columnTitles: {
    text: 'How the text begins. The strip is what its blocks are: shared, active, cached and free.',
    length: 'How many blocks follow one another here without a branch',
    below: 'Blocks that hold it, or what follows it',
    copies: 'Blocks that hold what another block holds too',
    hits: 'How often its first block was hit, since it was labelled with what it holds',
    holders: 'The sequences that hold it; where nobody does, how many blocks of the free queue go before it',
    idle: 'Steps since the last of its blocks was freed',
  },
  sort: 'Most first',
  sorts: { tokens: 'tokens', blocks: 'blocks', hits: 'hits', recency: 'recency' },
  sortTitles: {
    tokens: 'By the tokens of all contents below',
    blocks: 'By the blocks that hold them, copies included',
    hits: 'By the hits of the first block',
    recency: 'What is in use first, then what was freed last',
  },
  sums: (contents: number, blocks: number) => `${plural(contents, 'content')} in ${plural(blocks, 'block')}`,
  unreachable: (count: number) => `${n(count)} can’t be hit`,
  unreachableTitle: 'What they follow was evicted: a lookup stops before it comes to them',
  asOf: (step: number) => `as of step ${n(step)}`,
  asOfTitle: 'A large tree is built now and then while the state goes on',
  find: 'Find by a prompt’s beginning',
  findHint: 'a prompt begins with …',
  findNoText: 'This session does not record text',
  clear: 'Look for nothing',
  found: (
    { blocks, met, isWhole, nodes, awaited }: FoundAnswer,
    typed: string,
    blockSize: number,
  ): string => {
    if (nodes === 0) {
      return awaited > 0
        ? `the text of ${plural(awaited, 'content')} is on its way …`
        : 'Nothing in the cache begins like this.';
    }
    const whole =
      blocks === 0 ? 'no whole block' : `${plural(blocks, 'block')} (${n(blocks * blockSize)} tokens)`;
    const rest = typed.trimStart().slice(met);
    const end = isWhole
      ? blocks === 0 || nodes > 1
        ? `, and goes on in ${plural(nodes, 'place')}`
        : ', all of it'
      : `, then differs at “${rest.slice(0, 18).replaceAll('\n', '⏎')}${rest.length > 18 ? '…' : ''}”`;
    return `matches ${whole}${end}${awaited > 0 ? ' …' : ''}`;
  },
  ends: 'goes on here',
  differs: 'differs here',
  rowBlocks: (row: TreeRow) => (row.length === 1 ? '' : `${n(row.length)} blocks`),
  unroll: (row: TreeRow) =>
    row.isUnrolled ? 'Show as one row' : `Show the ${n(row.length)} blocks one by one`,
  block: (row: TreeRow, blockSize: number) =>
    row.depth === 0
      ? `content ${n(row.first)}`
      : `content ${n(row.first)}: block ${n(row.depth)} of a prompt, its tokens ${n((row.depth - 1) * blockSize)} to ${n((row.depth + row.length - 1) * blockSize - 1)}`,
  open: 'Open (→); all below (*)',
  close: 'Close (←)',
  content: (content: number) => `content ${n(content)}`,
  notRecorded: 'text not recorded',
  loading: '…',
  below: (row: TreeRow) =>
    `${plural(row.below, 'block')}: ${n(row.held)} here, ${n(row.below - row.held)} below`,
  states: ([cached, active, shared]: TreeRow['states']) =>
    [
      shared > 0 ? `${n(shared)} shared` : '',
      active > 0 ? `${n(active)} active` : '',
      cached > 0 ? `${n(cached)} cached, free` : '',
    ]
      .filter(Boolean)
      .join(', '),
  copies: (row: TreeRow) => `${n(row.held)} blocks hold what ${n(row.length)} would`,
  more: (count: number) => `+${n(count)}`,
  holding: (count: number) => n(count),
  holders: (labels: string, count: number) => `held by ${labels}${count > 0 ? ` and ${n(count)} more` : ''}`,
  place,
  placeTitle: (row: TreeRow) =>
    row.length === 1 && row.held === 1
      ? 'Place in the free queue: how many blocks go before it'
      : 'Place in the free queue of the first of its blocks to go',
  used: 'in use',
  idle: (steps: number) => plural(steps, 'step'),
  idleTitle: (step: number) => `Freed in step ${n(step)}`,
  earlier: 'earlier',
  earlierTitle: 'Freed in a step that this page has not loaded',
  standing: {
    'cut off': 'can’t be hit',
    unreachable: 'can’t be hit',
    unknown: 'parent not loaded',
  },
  standingTitles: {
    'cut off': 'What it follows was evicted: a lookup stops before it comes to it',
    unreachable: 'What it follows can’t be hit',
    unknown: 'It is asked for what this follows',
  },
  asking: (count: number) => `It is asked for what ${plural(count, 'content')} follow …`,
  failed: (message: string) => `What contents follow could not be loaded: ${message}.`,
  building: 'The tree is being built …',
  empty: 'Nothing is cached yet.',
  emptyAdvice: 'A block stands here once it is full and labelled with what it holds.',
  off: 'Prefix caching is off.',
  offAdvice:
    'This engine was started with --no-enable-prefix-caching: full blocks get no label, and nothing is found again.',
  contiguous: 'A contiguous cache has no prefix tree.',
  contiguousAdvice:
    'Each sequence has a run of blocks of its own; nothing is shared, and nothing is found again.',
} as const;
