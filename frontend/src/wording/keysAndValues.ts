/** What is said of a block's keys and values. */

import { integer } from '../format';

const n = integer;

export const keysAndValues = {
  title: 'Keys and values',
  key: 'keys',
  value: 'values',
  read: 'Read from the device',
  again: 'Read again',
  reading: 'reading …',
  allSlots: 'all written slots',
  slot: (slot: number) => `slot ${slot}`,
  slots: 'Slots that are read',
  notRecorded: 'Not recorded: a recording has what happened to blocks, not what they hold on the device.',
  unreachable: 'The engine is not connected: they can’t be read now.',
  readAt: (first: number, last: number, step: number) =>
    `${last - first === 1 ? `slot ${first}` : `mean of slots ${first} to ${last - 1}`}, after step ${n(step)}`,
  axes: (layers: number, heads: number) => `${n(layers)} layers →, ${n(heads)} KV heads ↓`,
  cell: (layer: number, head: number, norm: string) => `layer ${layer} · head ${head} · ${norm}`,
  range: (least: string, most: string) => `${least} – ${most}`,
  told: (name: string, layers: number, heads: number, least: string, most: string) =>
    `Norms of the ${name} in ${layers} layers and ${heads} heads, from ${least} to ${most}`,
} as const;
