/** One clock: at the live end, or at a step. It moves the view only; recording and engine go on. */

import { signal } from '@preact/signals';
import { position, tell } from './ledger';
import { selection } from './selection';

/** Times the recorded pace. */
export const RATES = [0.25, 1, 4, 16, 64] as const;
export const rate = signal<number>(1);
/** Counts the jumps (as opposed to steps and playing), each of which is a place to come back to. */
export const jumps = signal(0);

export function follow(): void {
  jumps.value++;
  tell({ kind: 'follow' });
}

/** Go to a step: part of a drag or of stepping. */
export function seek(step: number): void {
  tell({ kind: 'seek', step: Math.max(0, Math.round(step)) });
}

/** Go to a step and remember where one was. */
export function jump(step: number): void {
  jumps.value++;
  seek(step);
}

export function stepBy(steps: number): void {
  tell({ kind: 'by', steps });
}

export function playOrPause(): void {
  if (position.value.mode === 'at') tell({ kind: 'play', rate: rate.value });
  else tell({ kind: 'pause' });
}

export function setRate(next: number): void {
  rate.value = next;
  if (position.value.mode === 'play') tell({ kind: 'play', rate: next });
}

/** Go to the next or previous step that changed what is selected: the worker knows, or loads, what lies there. */
export function jumpToChange(direction: 1 | -1): void {
  const { block, sequence, request } = selection.peek();
  if (block === null && sequence === null && request === null) return;
  jumps.value++;
  tell({ kind: 'change', direction });
}
