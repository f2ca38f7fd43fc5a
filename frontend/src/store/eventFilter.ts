/** The filter of the list of events: as it is typed, as it holds, in the address, and those that were used before. */

import { computed, signal } from '@preact/signals';
import { FIELDS, type Filter } from '../filter/filter';
import { printFilter } from '../filter/print';
import { readFilter } from '../filter/read';
import { keepInAddress } from './address';

const KEY = 'kvarium.filters';
const MOST_RECENT = 8;

export const typedFilter = signal('');
/** The last one that could be read: what can't be read leaves the list as it was. */
export const eventFilter = signal<Filter>([]);
/** As it stands in the address: once somebody has stopped typing. */
const settledFilter = signal('');

export const filterFault = computed(() => {
  const read = readFilter(typedFilter.value);
  return 'fault' in read ? read.fault : null;
});

function readRecent(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored.filter((each): each is string => typeof each === 'string' && 'filter' in readFilter(each));
  } catch {
    return [];
  }
}

export const recentFilters = signal(readRecent());

/** Is its last word perhaps the beginning of a field's name, on its way to a term? */
function isOnItsWay(text: string): boolean {
  const word = /(?:^|[ \t])-?([A-Za-z_]+)$/.exec(text)?.[1]?.toLowerCase();
  return word !== undefined && FIELDS.some((field) => field.startsWith(word));
}

/** What somebody types, character by character. */
export function typeFilter(text: string): void {
  typedFilter.value = text;
  if (!isOnItsWay(text)) apply(text);
}

function apply(text: string): void {
  const read = readFilter(text);
  if ('filter' in read && printFilter(read.filter) !== printFilter(eventFilter.peek()))
    eventFilter.value = read.filter;
}

/** It is what somebody wants, and not on its way to that: it can be come Back to, and is remembered. */
export function settleFilter(): void {
  const read = readFilter(typedFilter.peek());
  if ('fault' in read) return;
  apply(typedFilter.peek());
  const text = typedFilter.peek().trim();
  settledFilter.value = text;
  if (text === '') return;
  recentFilters.value = [text, ...recentFilters.peek().filter((each) => each !== text)].slice(0, MOST_RECENT);
  try {
    localStorage.setItem(KEY, JSON.stringify(recentFilters.peek()));
  } catch {
    // Remembered as long as this page is there.
  }
}

keepInAddress({
  name: 'filter',
  now: () => (settledFilter.value === '' ? null : settledFilter.value),
  take: (said) => {
    const text = said ?? '';
    if ('fault' in readFilter(text)) return false;
    settledFilter.value = text;
    typedFilter.value = text;
    apply(text);
    return true;
  },
  isEntry: true,
});
