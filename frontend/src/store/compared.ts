/** Two steps that the reader marked, A and B, and what differs between their states; in the address as `&marks=100-250`. */

import { effect, signal } from '@preact/signals';
import type { Comparison } from '../worker/compare';
import { keepInAddress } from './address';
import { compare, hello, position } from './ledger';

export type MarkName = 'A' | 'B';

/** The steps. */
export const marks = signal<Readonly<Record<MarkName, number | null>>>({ A: null, B: null });
export const isComparing = signal(false);
/** null: on its way. */
export const comparison = signal<Comparison | { readonly fault: string } | null>(null);

/** Mark the step where the view is, or is on its way to. */
export function setMark(name: MarkName): void {
  const { step, target } = position.peek();
  const at = target ?? step;
  if (at < 0) return;
  marks.value = { ...marks.peek(), [name]: at };
  if (marks.peek().A !== null && marks.peek().B !== null) isComparing.value = true;
}

export function clearMarks(): void {
  marks.value = { A: null, B: null };
  isComparing.value = false;
}

export function toggleComparing(): void {
  isComparing.value = !isComparing.peek();
}

let asked = 0;
effect(() => {
  const { A, B } = marks.value;
  comparison.value = null;
  const mine = ++asked;
  if (A === null || B === null || !isComparing.value || hello.value === null) return;
  void compare(A, B).then((found) => {
    if (mine === asked) comparison.value = found;
  });
});

// They are of one session.
effect(() => {
  if (hello.value === null) clearMarks();
});

keepInAddress({
  name: 'marks',
  now: () => {
    const { A, B } = marks.value;
    return A === null && B === null ? null : `${A ?? ''}-${B ?? ''}`;
  },
  take: (said) => {
    const found = said === null ? null : /^(\d{0,15})-(\d{0,15})$/.exec(said);
    const [A, B] = [1, 2].map((at) => (found?.[at] ? Number(found[at]) : null));
    const now = marks.peek();
    if (now.A !== (A ?? null) || now.B !== (B ?? null)) marks.value = { A: A ?? null, B: B ?? null };
    if (marks.peek().A === null || marks.peek().B === null) isComparing.value = false;
    return said === null || found !== null;
  },
  isEntry: false,
});
