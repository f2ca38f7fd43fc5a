/** What stands behind each view, as plain values: what `window.kvarium.shown()` answers. */

import {
  block,
  events,
  inside,
  landmarks,
  light,
  marked,
  position,
  queue,
  request,
  runs,
  scheduler,
  series,
  tables,
  tree,
  usable,
  usage,
} from './ledger';
import { picture } from './picture';

/** What the worker told last, by the name of its signal. A panel that is not looked at keeps what it was told. */
const TOLD = {
  position,
  usage,
  usable,
  light,
  tables,
  queue,
  runs,
  scheduler,
  events,
  tree,
  block,
  request,
  series,
  landmarks,
  marked,
  inside,
} as const;

export type ShownName = keyof typeof TOLD | 'map';
export type ShownState = Partial<Record<ShownName, unknown>>;

function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint32Array);
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

/** Of what is named; of all where nothing is. `map` is a word a block, as `worker/word.ts` packs it. */
export function shownState(...names: ShownName[]): ShownState {
  const wanted = names.length > 0 ? names : [...(Object.keys(TOLD) as (keyof typeof TOLD)[]), 'map' as const];
  return Object.fromEntries(
    wanted.map((name) => [
      name,
      plain(name === 'map' ? picture.words.map((_, b) => picture.wordOf(b)) : TOLD[name].value),
    ]),
  );
}
