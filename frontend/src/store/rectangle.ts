/** The rectangle of the map that the reader marked; in the address as `&rectangle=9-18-7`: two corners, and the columns of the grid. */

import { effect, signal } from '@preact/signals';
import { isSame, type Rectangle } from '../worker/rectangle';
import { keepInAddress } from './address';
import { hello, wantRectangle } from './ledger';

export const rectangle = signal<Rectangle | null>(null);

export function markRectangle(from: number, to: number, columns: number): void {
  const now = rectangle.peek();
  const next = { from, to, columns };
  if (now === null || !isSame(now, next)) rectangle.value = next;
}

export function unmarkRectangle(): void {
  rectangle.value = null;
}

effect(() => {
  wantRectangle.value = rectangle.value;
});

// It is of one session.
effect(() => {
  if (hello.value === null) unmarkRectangle();
});

keepInAddress({
  name: 'rectangle',
  now: () => {
    const marked = rectangle.value;
    return marked === null ? null : `${marked.from}-${marked.to}-${marked.columns}`;
  },
  take: (said) => {
    const found = /^(\d{1,10})-(\d{1,10})-([1-9]\d{0,9})$/.exec(said ?? '');
    if (found === null) unmarkRectangle();
    else markRectangle(Number(found[1]), Number(found[2]), Number(found[3]));
    return said === null || found !== null;
  },
  isEntry: false,
});
