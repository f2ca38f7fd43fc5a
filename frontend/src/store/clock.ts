/** One clock: at the live end, or at a place. It moves the view only; recording and engine go on. */

import { signal } from '@preact/signals';
import { text } from '../text';
import type { LandmarkKind } from '../worker/landmarks';
import type { Destination } from '../worker/place';
import type { Pace } from '../worker/player';
import { embedded, isEmbedded } from './embedded';
import { link, tell } from './ledger';
import { say } from './remark';
import { selection } from './selection';

/** As it was: the recorded pace, pauses and all. */
export const RECORDED: Pace = { kind: 'recorded' };
/** The other paces, each kind from the slowest to the fastest: from single operations to the whole session at a glance. */
export const PACES: readonly Pace[] = [
  ...[1, 4, 16, 64].map((rate): Pace => ({ kind: 'operations', rate })),
  ...[1, 4, 16].map((rate): Pace => ({ kind: 'steps', rate })),
  ...[0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 100, 300, 1000].map((factor): Pace => ({ kind: 'times', factor })),
];
export const pace = signal<Pace>(RECORDED);
/** Which landmarks are gone to. */
export const landmarkKind = signal<LandmarkKind | 'any'>('any');
/** Counts the jumps (as opposed to steps and playing), each of which is a place to come back to. */
export const jumps = signal(0);

export function follow(): void {
  jumps.value++;
  tell({ kind: 'follow' });
}

/** Go to a step: part of a drag or of stepping. */
export function seek(step: number): void {
  tell({ kind: 'go', to: { kind: 'step', step: Math.max(0, Math.round(step)) } });
}

/** ms for which a pointer rests on a place before it counts as where its reader will go. */
const RESTS = 60;
let resting: ReturnType<typeof setTimeout> | undefined;
let expected: number | null = null;

/** The pointer is on a step of the timeline, or on none: once it rests there, a recording's state is fetched beforehand. */
export function point(step: number | null): void {
  if (step === expected || isEmbedded || link.peek() !== 'replay') return;
  expected = step;
  clearTimeout(resting);
  resting = setTimeout(() => tell({ kind: 'expect', step }), step === null ? 0 : RESTS);
}

/** What a page of a part can't show: the view goes to the nearest step that it has, and says so. */
function sayWhatLacks(to: Destination): void {
  const part = embedded?.part ?? null;
  const step = 'step' in to ? to.step : undefined;
  // The beginning is that of the part.
  if (part === null || step === undefined || step === 0) return;
  if (step < part.from_step || step > part.to_step)
    say(text.go.notInPart(step, part.from_step, part.to_step));
}

/** Go somewhere and remember where one was. */
export function jumpTo(to: Destination): void {
  jumps.value++;
  tell({ kind: 'go', to });
  sayWhatLacks(to);
}

export function jump(step: number): void {
  jumpTo({ kind: 'step', step: Math.max(0, Math.round(step)) });
}

export function stepBy(steps: number): void {
  tell({ kind: 'by', steps });
}

export function operationsBy(operations: number): void {
  tell({ kind: 'byOperations', operations });
}

/** Go to the next or previous landmark of the chosen kind. */
export function jumpToLandmark(direction: 1 | -1): void {
  jumps.value++;
  tell({ kind: 'landmark', of: landmarkKind.peek(), direction, from: null });
}

/** Go to the first landmark of a kind from a step on. */
export function jumpToFirst(of: LandmarkKind, from: number): void {
  jumps.value++;
  tell({ kind: 'landmark', of, direction: 1, from: from - 1 });
}

export function playOrPause(): void {
  tell({ kind: 'playOrPause', pace: pace.peek() });
}

export function setPace(next: Pace): void {
  pace.value = next;
  tell({ kind: 'pace', pace: next });
}

/** The next pace of the list; what was as it was goes on from there. */
export function changePace(direction: 1 | -1): void {
  const now = pace.peek();
  const at = PACES.findIndex((each) =>
    now.kind === 'recorded' ? each.kind === 'times' && each.factor === 1 : each === now,
  );
  setPace(PACES[Math.max(0, Math.min(PACES.length - 1, at + direction))]!);
}

/** Go to the next or previous step that changed what is selected: the worker knows, or loads, what lies there. */
export function jumpToChange(direction: 1 | -1): void {
  const { block, sequence, request } = selection.peek();
  if (block === null && sequence === null && request === null) return;
  jumps.value++;
  tell({ kind: 'change', direction });
}
