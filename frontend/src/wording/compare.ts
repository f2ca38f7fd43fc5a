/** What the comparison of two states says. */

import { integer } from '../format';
import { plural } from './plural';

const n = integer;

export const compare = {
  title: 'A against B',
  marks: 'Marks to compare',
  set: (name: string) => `Mark ${name} at the step of the view (⇧${name})`,
  goTo: (name: string) => `Go to mark ${name}`,
  step: (step: number) => n(step),
  difference: 'difference',
  show: 'What differs between the states at A and B (c)',
  clear: 'Take the marks away',
  close: 'Close',
  between: (from: number, to: number) => `step ${n(from)} → ${n(to)}`,
  asking: 'Both states are being read …',
  fault: (why: string) => `They can’t be compared: ${why}.`,
  unverified: 'One of the states does not equal its digest: what is told here may be wrong.',
  kinds: { allocated: 'allocated', freed: 'freed', cached: 'cached', evicted: 'evicted' },
  kindTitles: {
    allocated: 'In use at B, and not in this life at A',
    freed: 'In use at A, and not in this life at B',
    cached: 'With a content at B that they did not have at A',
    evicted: 'With a content at A that they do not have at B',
  },
  count: (count: number) => plural(count, 'block'),
  block: (block: number) => `block ${n(block)}`,
  request: 'request',
  gained: 'gained',
  lost: 'lost',
  firstBlock: 'first of them',
  noRequest: 'No request gained or lost a block.',
  others: (count: number) => `and ${plural(count, 'more request', 'more requests')}`,
  needsMarks: 'Set the marks A and B first',
} as const;
