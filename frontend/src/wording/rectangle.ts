/** What is said of the rectangle of the map that the reader marked. */

import { integer, percent } from '../format';
import { plural } from './plural';

const n = integer;

export const rectangle = {
  title: 'Rectangle',
  unmark: 'Take the rectangle away (Esc)',
  counting: 'What is in it is being counted …',
  blocks: (blocks: number, step: number) => `${blocks === 1 ? 'block' : 'blocks'} · at step ${n(step)}`,
  empty: 'No block lies in it.',
  states: 'states',
  refs: 'ref counts',
  refsOf: (range: string, blocks: number) => `${range} × ${n(blocks)}`,
  refsTitle: (range: string, blocks: number) => `${plural(blocks, 'block')} with ref count ${range}`,
  slots: 'slots',
  filled: (filled: number, slots: number) => `${n(filled)} of ${n(slots)} filled, ${percent(filled, slots)}`,
  contents: 'contents',
  held: (contents: number, hits: number) =>
    `${plural(contents, 'block holds', 'blocks hold')} content, ${hits === 0 ? 'never hit' : plural(hits, 'hit')}`,
  requests: 'requests',
  requestsTitle: 'A block that several requests hold counts for each of them',
  nobody: 'no request holds any of them',
  others: (count: number) => `and ${plural(count, 'more request')}`,
} as const;
