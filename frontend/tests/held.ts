/** A fold whose blocks hold contents, as a test wants them; the rest of its state is a fresh pool's. */

import { Fold } from '../src/ledger/fold';
import { NONE } from '../src/ledger/generated/constants';

export interface Held {
  readonly content: number;
  readonly count?: number;
  readonly hits?: number;
  readonly ticket?: number;
}

function column(values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

/** `parents`: of each content its own, null for the first of a prompt. `held`: what the blocks hold; null: nothing. */
export function foldOf(parents: readonly (number | null)[], held: readonly (Held | null)[]): Fold {
  const fold = new Fold(held.length, 4);
  fold.contents.add({
    content: column(parents.map((_, content) => content)),
    parent: column(parents.map((parent) => parent ?? NONE)),
  });
  held.forEach((each, b) => {
    if (each === null) return;
    const { content, count = 0, hits = 0, ticket = b } = each;
    fold.blocks.content[b] = content;
    fold.blocks.count[b] = count;
    fold.blocks.hits[b] = hits;
    fold.blocks.filled[b] = 4;
    fold.blocks.ticket[b] = count > 0 ? Number.NaN : ticket;
  });
  fold.loaded = true;
  return fold;
}
