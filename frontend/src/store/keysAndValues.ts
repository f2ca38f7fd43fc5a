/** What the selected block holds on the device: asked of a live engine when a reader wants it, never recorded. */

import { signal } from '@preact/signals';
import { ask } from './engine';
import { current } from './sessions';

/** What the engine's `read_block` answers: norms of layers × kv_heads, a layer after the other. */
export interface BlockNorms {
  readonly block: number;
  readonly generation: number;
  readonly step: number;
  /** The slots that were read: from the first to before the last. */
  readonly first: number;
  readonly last: number;
  readonly layers: number;
  readonly kv_heads: number;
  readonly key: readonly number[];
  readonly value: readonly number[];
}

export interface Reading {
  readonly session: string | null;
  readonly block: number;
  readonly generation: number;
  /** Of all written slots, or of this one. */
  readonly slot: number | null;
  readonly found: BlockNorms | { readonly error: string } | null;
}

/** The last one; of another session, another block or another life of it, it says nothing. */
export const reading = signal<Reading | null>(null);

export async function readBlock(block: number, generation: number, slot: number | null): Promise<void> {
  const asked: Reading = { session: current.peek()?.id ?? null, block, generation, slot, found: null };
  reading.value = asked;
  const answer = await ask<BlockNorms>('read_block', {
    block,
    generation,
    ...(slot === null ? {} : { slot }),
  });
  // The latest wins: what was asked meanwhile is what the reader looks at.
  if (reading.peek() === asked)
    reading.value = { ...asked, found: 'error' in answer ? answer : answer.result };
}
