/** The five notes that a first visit shows. Once they are read or skipped they do not come by themselves again. */

import { effect, signal } from '@preact/signals';
import { keep, recall } from './kept';
import { centre, left } from './layout';
import { position } from './ledger';
import { current } from './sessions';

export const NOTES = ['bar', 'map', 'tables', 'timeline', 'inspector'] as const;
export type Note = (typeof NOTES)[number];

const KEPT = 'tour';
/** What in an address says that its reader was sent somewhere: nothing stands between them and that. */
const PLACES = ['step', 'op', 'block', 'seq', 'request'];

/** The note that is shown; null: none. */
export const note = signal<Note | null>(null);

function show(next: Note): void {
  // What a note is about is on the screen.
  if (next === 'map') centre.value = 'map';
  if (next === 'tables') left.value = 'tables';
  note.value = next;
}

export function startTour(): void {
  show(NOTES[0]);
}

export function endTour(): void {
  note.value = null;
  keep(KEPT, 'seen');
}

/** The next note, or the one before; behind the last one it ends. */
export function turnNote(by: 1 | -1): void {
  const now = note.peek();
  if (now === null) return;
  const next = NOTES[Math.max(0, NOTES.indexOf(now) + by)];
  if (next === undefined) endTour();
  else show(next);
}

/** Show it by itself once there is a state to look at, unless it was seen, or the address leads to a place. */
export function startTourAtFirst(): void {
  const query = new URLSearchParams(location.search);
  if (recall(KEPT) !== null || PLACES.some((name) => query.has(name))) return;
  const stop = effect(() => {
    if (current.value === null || !position.value.loaded) return;
    queueMicrotask(() => {
      stop();
      startTour();
    });
  });
}

/** Whoever leaves the session leaves the tour of it. */
effect(() => {
  if (current.value === null && note.peek() !== null) note.value = null;
});
