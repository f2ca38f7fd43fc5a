/** One selection for the whole page, and what the pointer is over. */

import { signal } from '@preact/signals';
import type { Selection } from '../worker/answers/inspect';

export type { Selection };

export const NOTHING: Selection = { block: null, sequence: null, request: null };
export const selection = signal<Selection>(NOTHING);

export interface Hover {
  readonly block: number | null;
  readonly sequence: number | null;
}

export const hover = signal<Hover>({ block: null, sequence: null });

export function selectBlock(block: number | null): void {
  selection.value = { ...selection.value, block };
}

/** Select a sequence (and its request with it), or nothing. */
export function selectSequence(sequence: number | null): void {
  selection.value = { ...selection.value, sequence, request: null };
}

export function selectRequest(request: number | null): void {
  selection.value = { ...selection.value, sequence: null, request };
}

export function clearSelection(): void {
  selection.value = NOTHING;
}

export function hoverBlock(block: number | null): void {
  if (hover.value.block !== block) hover.value = { block, sequence: null };
}

export function hoverSequence(sequence: number | null): void {
  if (hover.value.sequence !== sequence) hover.value = { block: null, sequence };
}
