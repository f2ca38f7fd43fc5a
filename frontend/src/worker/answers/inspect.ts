/** What is selected, and what the inspector says of a block. */

import type { Fold } from '../../ledger/fold';
import { NONE } from '../../ledger/generated/constants';
import type { EventList } from './events';
import { rankInQueue } from './queue';
import { type Run, runAt } from './runs';
import type { Sayings, Slots } from './said';

/** What is selected: at most one block, and at most one sequence or request. */
export interface Selection {
  readonly block: number | null;
  readonly sequence: number | null;
  readonly request: number | null;
}

export interface Holder {
  readonly sequence: number;
  readonly request: number;
  readonly label: string;
  readonly group: number;
  readonly position: number;
}

export interface BlockAnswer {
  readonly block: number;
  readonly generation: number;
  readonly count: number;
  readonly filled: number;
  readonly content: number;
  /** The content of the block before it: `NONE` for the first of a prompt, null when it is not known. */
  readonly parent: number | null;
  /** How the text of the content begins, and that of its parent; null: not known. */
  readonly start: string | null;
  readonly parentStart: string | null;
  readonly slots: Slots;
  readonly hits: number;
  /** null: not in the free queue. */
  readonly ticket: number | null;
  readonly rank: number | null;
  readonly queued: number;
  /** Where memory is contiguous, the free run that it is in. */
  readonly run: Run | null;
  readonly holders: readonly Holder[];
  readonly pins: readonly { pin: number; times: number }[];
  /** Blocks that hold the same content. */
  readonly twins: readonly number[];
  readonly biography: EventList | null;
}

export function blockAnswer(
  fold: Fold,
  block: number,
  isContiguous: boolean,
  biography: EventList | null,
  sayings: Sayings,
): BlockAnswer | null {
  const { blocks, requests, contents } = fold;
  if (block < 0 || block >= blocks.size) return null;
  const content = blocks.content[block]!;
  const ticket = blocks.ticket[block]!;
  const twins: number[] = [];
  if (content !== NONE) {
    for (let b = blocks.content.indexOf(content); b >= 0 && twins.length < 16; ) {
      if (b !== block) twins.push(b);
      b = blocks.content.indexOf(content, b + 1);
    }
  }
  const parent = content === NONE ? null : (contents.parent(content) ?? sayings.parent(content));
  const startOf = (id: number | null): string | null =>
    id === null || id === NONE ? null : sayings.start(id, fold.record);
  return {
    block,
    generation: blocks.generation[block]!,
    count: blocks.count[block]!,
    filled: blocks.filled[block]!,
    content,
    parent,
    start: startOf(content),
    parentStart: startOf(parent),
    slots: sayings.slots(fold, block),
    hits: blocks.hits[block]!,
    ticket: Number.isNaN(ticket) ? null : ticket,
    rank: isContiguous ? null : rankInQueue(blocks, block),
    run: isContiguous ? runAt(blocks, block) : null,
    queued: blocks.tally[0]! + blocks.tally[1]!,
    holders: fold.tables
      .holders(block)
      .map((holder) => ({
        ...holder,
        request: requests.memory.requestOf(holder.sequence),
        label: requests.memory.label(holder.sequence),
      }))
      .sort((a, b) => a.sequence - b.sequence),
    pins: [...(fold.pins.map.get(block) ?? [])].map(([pin, times]) => ({ pin, times })),
    twins,
    biography,
  };
}

/** The blocks of a sequence, or of all sequences of a request. */
export function blocksOf(fold: Fold, selection: Selection): Uint32Array {
  const found = new Set<number>();
  for (const table of fold.tables.map.values()) {
    const own =
      selection.sequence !== null
        ? table.sequence === selection.sequence
        : selection.request !== null &&
          fold.requests.sequences.get(table.sequence)?.request === selection.request;
    if (!own) continue;
    for (let position = 0; position < table.end; position++) {
      const block = table.blocks[position]!;
      if (block < fold.numBlocks) found.add(block);
    }
  }
  return Uint32Array.from(found);
}
