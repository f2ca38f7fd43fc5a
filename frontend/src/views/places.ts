/** Elements for the rows of a list that are in sight, used again: a row that comes takes the element of one that went. */

import { useRef } from 'preact/hooks';

/** For each of `names`, all different, a small number that no other has, and that it keeps as long as it is among them. */
export function placesOf(names: readonly number[], before: ReadonlyMap<number, number>): Map<number, number> {
  const places = new Map<number, number>();
  const taken = new Set<number>();
  for (const name of names) {
    const place = before.get(name);
    if (place === undefined) continue;
    places.set(name, place);
    taken.add(place);
  }
  let free = 0;
  for (const name of names) {
    if (places.has(name)) continue;
    while (taken.has(free)) free++;
    places.set(name, free++);
  }
  return places;
}

/** The keys of the rows with these names: {@link placesOf} them, from one rendering to the next. */
export function usePlaces(names: readonly number[]): ReadonlyMap<number, number> {
  const last = useRef<ReadonlyMap<number, number>>(new Map());
  last.current = placesOf(names, last.current);
  return last.current;
}
