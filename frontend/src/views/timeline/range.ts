/**
 * Which steps the timeline shows: the last ones, all, or a part that was chosen by zooming, moving or brushing; kept in the
 * address as `&steps=100-220` or `&steps=all`.
 */

import { computed, effect, signal } from '@preact/signals';
import { keepInAddress } from '../../store/address';
import { hello, position, series } from '../../store/ledger';
import { type Layout, layoutFor, stepAt, type Window, xOf } from './draw';

/** All of the session, the last steps, or a part that was chosen. */
export type Range = 'all' | 'recent' | Window;
export const range = signal<Range>('recent');

/** The fewest steps that are shown. */
const LEAST = 20;

/** Where it all lies, in CSS pixels. */
export const layout = signal<Layout>(layoutFor(1600, 180));

/** What is shown: the window of the buckets that came last. */
export function windowNow(): Window {
  return series.peek()?.window ?? { from: 0, to: 1 };
}

/** What is on its way to be shown, exactly: a held key moves it by less than a step at a time. */
let wanted: { readonly exact: Window; readonly range: Window } | null = null;

export function windowWanted(): Window {
  const at = range.peek();
  return typeof at === 'string' ? windowNow() : wanted?.range === at ? wanted.exact : at;
}

/** What is shown or on its way, for who draws it; reads signals. */
export const windowShown = computed<Window>(() => {
  const at = range.value;
  return typeof at === 'string' ? (series.value?.window ?? { from: 0, to: 1 }) : at;
});

function end(): number {
  return Math.max(1, position.peek().lastStep + 1);
}

/** Show a part, held within the session; all where it is no less. */
export function show(exact: Window): void {
  const steps = Math.min(end(), Math.max(LEAST, exact.to - exact.from));
  if (steps >= end()) {
    range.value = 'all';
    return;
  }
  const from = Math.max(0, Math.min(end() - steps, exact.from));
  const asked = { from: Math.floor(from), to: Math.ceil(from + steps) };
  wanted = { exact: { from, to: from + steps }, range: asked };
  range.value = asked;
}

/** The steps from one place of the timeline to another, as they were brushed. */
export function brush(one: number, other: number): void {
  const steps = [one, other].map((x) => stepAt(x, windowNow(), layout.peek())).sort((a, b) => a - b);
  show({ from: steps[0]!, to: steps[1]! + 1 });
}

export function showAll(): void {
  range.value = 'all';
}

/** Hold what is shown, where it would go along with the view. */
export function holdStill(): void {
  if (range.peek() === 'recent') range.value = windowNow();
}

/** Move along by a part of what is shown. */
export function pan(part: number): void {
  const { from, to } = windowWanted();
  if (to - from < end()) show({ from: from + part * (to - from), to: to + part * (to - from) });
}

/** Show `factor` times as many steps; the one at `x` stays where it is. */
export function zoom(factor: number, x: number): void {
  const { left, right } = layout.peek();
  const { from, to } = windowWanted();
  const part = Math.max(0, Math.min(1, (x - left) / Math.max(1, right - left)));
  const steps = Math.max(LEAST, Math.min(end(), (to - from) * factor));
  const start = from + part * (to - from) - part * steps;
  show({ from: start, to: start + steps });
}

/** Where the view is, or is on its way to, in CSS pixels. */
export function xOfPresent(): number {
  const { step, target } = position.peek();
  return xOf(Math.max(0, target ?? step), windowWanted(), layout.peek());
}

/** Move so that the present step lies in the middle, where it is out of sight. */
export function reveal(): void {
  const { step, target } = position.peek();
  const { from, to } = windowWanted();
  const at = target ?? step;
  if (range.peek() !== 'recent' && (at < from || at >= to)) pan((at - (from + to) / 2) / (to - from));
}

keepInAddress({
  name: 'steps',
  now: () => {
    const at = range.value;
    return at === 'recent' ? null : at === 'all' ? at : `${at.from}-${at.to - 1}`;
  },
  take: (said) => {
    const steps = said === null ? null : /^(\d{1,15})-(\d{1,15})$/.exec(said);
    const [from, to] = [Number(steps?.[1]), Number(steps?.[2]) + 1];
    const isPart = steps !== null && from < to;
    if (isPart && !isShown(from, to)) range.value = { from, to };
    else if (!isPart) range.value = said === 'all' ? 'all' : 'recent';
    return isPart || said === null || said === 'all';
  },
  isEntry: false,
});

/** Then what is on its way, exactly, stays as it is. */
function isShown(from: number, to: number): boolean {
  const at = range.peek();
  return typeof at !== 'string' && at.from === from && at.to === to;
}

// Another session begins with its last steps, or with what its address tells.
effect(() => {
  if (hello.value === null) range.value = 'recent';
});
