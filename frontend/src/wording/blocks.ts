/** What is said of blocks: their states, the map of them, and those that are free. */

import { integer } from '../format';
import { oneLine } from './piece';
import { plural } from './plural';

const n = integer;

export const states = {
  active: 'active',
  shared: 'shared',
  cached: 'cached, free',
  free: 'free',
  fresh: 'just changed',
  freshTitle: 'Blocks that the present step changed glow',
  ofClass: ['free', 'cached, free', 'active', 'shared'],
} as const;

export const mapKey = {
  title: 'How to read a block',
  count: 'The number is the ref count, where it is more than one.',
  fill: 'The bar at the foot is how many of its slots are filled.',
  next: 'Framed: the next block to go, the head of the free queue.',
  fresh: 'A glow: the present step changed it. The colour of its state stays below.',
} as const;

export const map = {
  blocks: (count: number, size: number) => `${n(count)} × ${n(size)} slots`,
  label: (count: number) =>
    `Memory map of ${n(count)} blocks. Arrow keys move, Shift and arrow keys mark a rectangle, Enter selects, plus and minus zoom, 0 shows all.`,
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  fit: 'Show all blocks',
  tip: (state: string, count: number) => (count > 1 ? `${state} by ${count}` : state),
  filled: (filled: number, size: number) => `filled ${filled} / ${size}`,
  content: 'holds content',
} as const;

export const queue = {
  summary: (length: number, order: string) =>
    `head → tail · ${plural(length, 'block')}${order ? ` · ${order}` : ''}`,
  more: (count: number) => `… ${n(count)} more`,
  next: 'next to go',
  loses: (content: number, start: string | null, hits: number) =>
    `loses ${start === null ? `content ${n(content)}` : `“${oneLine(start)} …”`}, ${hits === 0 ? 'never hit' : plural(hits, 'hit')}`,
  nothing: 'holds nothing',
  moves: 'What this step moved in the queue',
  noMoves: 'this step moved none',
  kinds: { taken: '← left', hit: '↑ hit', joined: 'joined ←', joinedHead: 'joined →' },
  kindTitles: {
    taken: 'Taken from the head of the queue',
    hit: 'Taken out of its midst, as its content was asked for',
    joined: 'Freed to the tail of the queue',
    joinedHead: 'Freed to the head of the queue: it holds no content',
  },
  moved: {
    taken: (block: number, cause: string, owner: string | null) =>
      `block ${block} left the head · ${cause}${owner === null ? '' : ` for ${owner}`}`,
    hit: (block: number, cause: string, owner: string | null) =>
      `block ${block} was taken out of the midst · ${cause}${owner === null ? '' : ` by ${owner}`}`,
    joined: (block: number, cause: string, owner: string | null) =>
      `block ${block} joined the tail · ${cause}${owner === null ? '' : ` of ${owner}`}`,
    joinedHead: (block: number, cause: string, owner: string | null) =>
      `block ${block} joined the head · ${cause}${owner === null ? '' : ` of ${owner}`}`,
  },
  lost: ' · it lost its content',
  empty: 'The queue is empty: every block is in use. The next allocation preempts somebody.',
} as const;

export const runs = {
  firstFit: 'first fit',
  largest: 'longest',
  summary: (free: number, count: number) => `${plural(free, 'free block')} in ${plural(count, 'run')}`,
  range: (first: number, last: number) => (first === last ? n(first) : `${n(first)} – ${n(last)}`),
  run: (length: number) => `${plural(length, 'block')} in one run`,
  empty: 'No run is free: every block is set aside. Who comes next waits.',
} as const;
