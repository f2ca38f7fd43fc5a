/** By what the map is coloured, and what its legend says. */

import { integer } from '../format';
import { plural } from './plural';

const n = integer;

export const order = {
  label: 'Arrange the map',
  title: 'In which order blocks lie on the map (x)',
  names: { number: 'by number', owner: 'by owner' },
} as const;

export const colouring = {
  label: 'Colour the map by',
  title: 'By what the map is coloured (v, V)',
  names: {
    state: 'state',
    refs: 'ref count',
    owner: 'owner',
    recency: 'recency',
    hits: 'hits',
    queue: 'queue place',
    depth: 'prefix depth',
  },
  /** What the numbers of a scale are. */
  units: {
    refs: 'Ref count: how many hold the block',
    recency: 'Steps since the block’s last operation',
    hits: 'Prefix hits of what the block holds now',
    queue: 'Place in the free queue, the head is 1',
    depth: 'Blocks of its prompt up to this one',
  },
  none: { refs: '0', recency: '', hits: '0', queue: 'not queued', depth: 'no content' },
  unknown: 'unknown',
  unknownTitle: {
    refs: '',
    recency: 'No operation in the records that are here, and they do not reach far enough back',
    hits: '',
    queue: '',
    depth: 'What its content follows is not known here yet',
  },
  /** From and to, both included; null: and more. */
  range: (from: number, to: number | null) =>
    to === null ? `${n(from)}+` : from === to ? n(from) : `${n(from)}–${n(to)}`,
  owners: {
    request: (request: number) => `r${request}`,
    others: (count: number) => `${plural(count, 'more owner')}`,
    free: 'free',
    cached: 'cached, free',
    pinned: 'no sequence',
    pinnedTitle: 'Held, but by no sequence: pinned',
    title:
      'The request of a block’s first holder. There are eight colours: requests that came one after the other differ, the selected one stands out.',
  },
  filter: (name: string, count: number) =>
    `${name}: ${plural(count, 'block')}. Click to light these alone, Shift+click for a range, Escape for all`,
} as const;
