/** What the inspector says of the selected block, or of the selected sequence or request. */

import type { Fold } from '../../ledger/fold';
import { NONE } from '../../ledger/generated/constants';
import type { Waiting } from '../../ledger/generated/types';
import type { RequestStateName } from '../../ledger/requests';
import type { EventList } from './events';
import { rankInQueue } from './queue';

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
  readonly hits: number;
  /** null: not in the free queue. */
  readonly ticket: number | null;
  readonly rank: number | null;
  readonly queued: number;
  readonly holders: readonly Holder[];
  readonly pins: readonly { pin: number; times: number }[];
  /** Blocks that hold the same content. */
  readonly twins: readonly number[];
  readonly biography: EventList | null;
}

export interface SequenceAnswer {
  readonly sequence: number;
  readonly label: string;
  readonly index: number;
  readonly parent: number | null;
  readonly blocks: number;
  readonly shared: number;
  readonly tokens: number;
}

export interface RequestAnswer {
  readonly request: number;
  readonly sequence: number | null;
  readonly name: string;
  /** null: not in the engine at this step. */
  readonly state: RequestStateName | null;
  readonly prompt: number;
  readonly maxTokens: number;
  readonly n: number;
  readonly priority: number;
  readonly reason: Waiting | null;
  readonly sequences: readonly SequenceAnswer[];
  readonly story: EventList | null;
}

export function blockAnswer(fold: Fold, block: number, biography: EventList | null): BlockAnswer | null {
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
  return {
    block,
    generation: blocks.generation[block]!,
    count: blocks.count[block]!,
    filled: blocks.filled[block]!,
    content,
    parent: content === NONE ? null : (contents.parent(content) ?? null),
    hits: blocks.hits[block]!,
    ticket: Number.isNaN(ticket) ? null : ticket,
    rank: rankInQueue(blocks, block),
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

export function requestAnswer(
  fold: Fold,
  request: number,
  sequence: number | null,
  story: EventList | null,
): RequestAnswer | null {
  const { requests, blocks } = fold;
  const facts = requests.facts.get(request);
  if (facts === undefined && !requests.rows.has(request)) return null;
  const sequences: SequenceAnswer[] = [];
  for (const [id, row] of requests.sequences) {
    if (row.request !== request || row.dropped) continue;
    const table = fold.tables.get(id, 0);
    let shared = 0;
    let tokens = 0;
    for (let position = 0; position < (table?.end ?? 0); position++) {
      const block = table!.blocks[position]!;
      if (block >= blocks.size) continue;
      if (blocks.count[block]! > 1) shared++;
      tokens += blocks.filled[block]!;
    }
    sequences.push({
      sequence: id,
      label: requests.memory.label(id),
      index: row.index,
      parent: row.parent,
      blocks: table?.size ?? 0,
      shared,
      tokens,
    });
  }
  return {
    request,
    sequence,
    name: facts?.name ?? '',
    state: requests.rows.get(request)?.state ?? null,
    prompt: facts?.promptTokens ?? 0,
    maxTokens: facts?.maxTokens ?? 0,
    n: facts?.n ?? 1,
    priority: facts?.priority ?? 0,
    reason: requests.reason(request),
    sequences: sequences.sort((a, b) => a.index - b.index),
    story,
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
