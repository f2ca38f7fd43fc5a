/** How likely tokens were: whether texts are shaded by it, and which token is pointed at. */

import { signal } from '@preact/signals';
import { wantToken } from './ledger';

const KEY = 'kvarium.shaded';

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'false';
  } catch {
    return true;
  }
}

export const shaded = signal(stored());

export function shade(on: boolean): void {
  shaded.value = on;
  try {
    localStorage.setItem(KEY, String(on));
  } catch {
    // A page without storage forgets the choice, and that is all.
  }
}

/** From which probability on a token has which shade: the likeliest have none. */
export const STEPS = [0.5, 0.2, 0.05, 0.01] as const;

/** 0: as good as expected, or not known; 4: the least likely. */
export function shadeOf(logprob: number): number {
  if (Number.isNaN(logprob)) return 0;
  const probability = Math.exp(logprob);
  const step = STEPS.findIndex((least) => probability >= least);
  return step < 0 ? STEPS.length : step;
}

/** A piece of text whose token is pointed at, or several where they write a character only together. */
export interface Pointed {
  readonly sequence: number;
  readonly place: number;
  readonly count: number;
  readonly left: number;
  readonly top: number;
  readonly bottom: number;
}

export const pointed = signal<Pointed | null>(null);

/** Show what else a token could have been, beside the element that shows it. */
export function pointAt(element: Element, sequence: number, place: number, count = 1): void {
  const now = pointed.peek();
  const { left, top, bottom } = element.getBoundingClientRect();
  if (now?.sequence === sequence && now.place === place && now.left === left && now.top === top) return;
  pointed.value = { sequence, place, count, left, top, bottom };
  wantToken.value = { sequence, place };
}

export function pointNowhere(): void {
  if (pointed.peek() === null) return;
  pointed.value = null;
  wantToken.value = null;
}
