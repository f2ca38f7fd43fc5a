/** By what the map is coloured, and which part of its legend is lit: kept in the address, and the first from visit to visit. */

import { computed, effect, signal } from '@preact/signals';
import { COLOURINGS, type Colouring, SHADES } from '../worker/shades';
import { keepInAddress } from './address';
import { keep, recall } from './kept';
import { centre } from './layout';
import { hello, isContiguous, wantColouring } from './ledger';

const first = COLOURINGS[0];

function colouringOf(said: string | null): Colouring | undefined {
  return COLOURINGS.find((each) => each === said);
}

export const colouring = signal<Colouring>(colouringOf(recall('colouring')) ?? first);

/** Where memory is contiguous, blocks have no place in a queue. */
export const colourings = computed(() =>
  COLOURINGS.filter((each) => each !== 'queue' || !isContiguous.value),
);

/**
 * The entries of the legend that are lit: classes of states, shades, or behind the shades that are no request's the requests
 * themselves; null: all are.
 */
export const lit = signal<ReadonlySet<number> | null>(null);
/** The entry that was lit last, from which a range goes on. */
let latest: number | null = null;

export function colourBy(next: Colouring): void {
  if (next === colouring.peek()) return;
  unlight();
  colouring.value = next;
  keep('colouring', next === first ? null : next);
}

export function nextColouring(by: 1 | -1): void {
  const all = colourings.peek();
  colourBy(all[(all.indexOf(colouring.peek()) + by + all.length) % all.length]!);
}

export function unlight(): void {
  lit.value = null;
  latest = null;
}

/** The entry of a request in the legend. */
export function entryOf(request: number): number {
  return SHADES + request;
}

/** Light one entry alone, or all again where it is alone. `isRange`: also those between it and the one before. */
export function light(entry: number, isRange: boolean, order: readonly number[]): void {
  if (isRange && latest !== null) {
    const [from, to] = [order.indexOf(latest), order.indexOf(entry)].sort((a, b) => a - b);
    lit.value = new Set(order.slice(from, to! + 1));
    return;
  }
  const isAlone = lit.peek()?.has(entry) === true && lit.peek()?.size === 1;
  latest = isAlone ? null : entry;
  lit.value = isAlone ? null : new Set([entry]);
}

/** The address says nothing of what goes without saying; where it is first read, what was chosen last does. */
let isRead = false;
keepInAddress({
  name: 'colour',
  now: () => (colouring.value === first ? null : colouring.value),
  take: (said) => {
    const kept = isRead ? first : colouring.peek();
    isRead = true;
    const next = said === null ? kept : colouringOf(said);
    if (next !== colouring.peek()) unlight();
    colouring.value = next ?? kept;
    return next !== undefined;
  },
  isEntry: false,
});

export function startColouring(): void {
  effect(() => {
    // What nobody looks at need not be found.
    const isShown = centre.value === 'map' && colourings.value.includes(colouring.value);
    wantColouring.value = isShown ? colouring.value : first;
  });
  // What was lit is of another session.
  hello.subscribe(unlight);
}
