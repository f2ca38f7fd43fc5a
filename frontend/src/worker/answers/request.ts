/** A request as of the present record: state, blocks, what was said, how fast; for the inspector and the playground. */

import type { Fold } from '../../ledger/fold';
import type { Reason, RequestStateName } from '../../ledger/requests';
import type { Series } from '../series';
import type { Texts } from '../texts';
import type { Ending } from '../transcripts';
import type { EventList } from './events';
import type { RequestText, Said, Sayings } from './said';

export interface SequenceAnswer {
  readonly sequence: number;
  readonly label: string;
  readonly index: number;
  readonly parent: number | null;
  readonly blocks: number;
  readonly shared: number;
  readonly tokens: number;
  /** Its blocks in the order of their positions, `NONE` in holes. */
  readonly table: Uint32Array;
  /** Positions whose block was made by a copy on write. */
  readonly copies: readonly number[];
  /** What it sampled; null: text is not recorded. */
  readonly said: Said | null;
  /** It ended before its request. */
  readonly dropped: boolean;
  /** How it ended by itself, as far as its tokens tell; null: it has not, or not by itself. */
  readonly end: 'length' | 'stop' | null;
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
  readonly reason: Reason | null;
  /** How it ended, if it did by the present record. */
  readonly ending: Ending | null;
  readonly text: RequestText;
  /** Tokens a second, all sequences together, from the first to the last of them; null: not enough of them. */
  readonly rate: number | null;
  /** Blocks that its sequences hold together, and how many of these are shared. */
  readonly blocks: number;
  readonly sharedBlocks: number;
  readonly sequences: readonly SequenceAnswer[];
  readonly story: EventList | null;
}

/** What the answers about requests are made of, beside the fold. */
export interface RequestSources {
  readonly texts: Texts;
  readonly sayings: Sayings;
  readonly series: Series;
  /** Blocks that a copy made, with the generation that it began. */
  readonly copied: ReadonlyMap<number, number>;
  /** Tokens with which a text ends. */
  readonly eos: ReadonlySet<number>;
}

/** The sequences of a request at the present record: those in the engine, else those that it had. */
function sequencesOf(
  fold: Fold,
  request: number,
  from: RequestSources,
): { id: number; index: number; parent: number | null; dropped: boolean }[] {
  const found = new Map<number, { id: number; index: number; parent: number | null; dropped: boolean }>();
  for (const [id, branch] of from.texts.transcripts.get(request)?.branches ?? []) {
    if (branch.created <= fold.record)
      found.set(id, { id, index: branch.index, parent: branch.parent, dropped: false });
  }
  for (const [id, row] of fold.requests.sequences) {
    if (row.request === request)
      found.set(id, { id, index: row.index, parent: row.parent, dropped: row.dropped });
  }
  return [...found.values()].sort((a, b) => a.index - b.index || a.id - b.id);
}

export function requestAnswer(
  fold: Fold,
  request: number,
  sequence: number | null,
  story: EventList | null,
  from: RequestSources,
): RequestAnswer | null {
  const { requests, blocks } = fold;
  const facts = requests.facts.get(request);
  if (facts === undefined && !requests.rows.has(request)) return null;
  const state = requests.rows.get(request)?.state ?? null;
  const text = from.sayings.request(request, fold.record);
  const last = from.texts.transcripts.get(request)?.ending ?? null;
  const ending = last !== null && last.record <= fold.record ? last : null;
  const all = new Set<number>();
  const sequences = sequencesOf(fold, request, from).map(({ id, index, parent, dropped }): SequenceAnswer => {
    const table = fold.tables.get(id, 0);
    const copies: number[] = [];
    let shared = 0;
    let tokens = 0;
    for (let position = 0; position < (table?.end ?? 0); position++) {
      const block = table!.blocks[position]!;
      if (block >= blocks.size) continue;
      all.add(block);
      if (blocks.count[block]! > 1) shared++;
      tokens += blocks.filled[block]!;
      if (from.copied.get(block) === blocks.generation[block]) copies.push(position);
    }
    // A sequence that decodes has one token more than are written: the one that was sampled last.
    const decodes = state === 'running' && facts !== undefined && tokens >= facts.promptTokens;
    const length = decodes ? tokens + 1 - facts.promptTokens : null;
    const ended = dropped || ending !== null;
    const said = from.sayings.sequence(request, id, fold.record, length, !ended);
    return {
      sequence: id,
      label: requests.memory.label(id),
      index,
      parent,
      blocks: table?.size ?? 0,
      shared,
      tokens,
      table: table?.blocks.slice(0, table.end) ?? new Uint32Array(0),
      copies,
      said,
      dropped,
      end:
        ended && (dropped || ending?.kind === 'finished')
          ? endOf(said, facts?.maxTokens, ending, from)
          : null,
    };
  });
  return {
    request,
    sequence,
    name: facts?.name ?? '',
    state,
    prompt: facts?.promptTokens ?? 0,
    maxTokens: facts?.maxTokens ?? 0,
    n: facts?.n ?? 1,
    priority: facts?.priority ?? 0,
    reason: requests.reason(request),
    ending,
    text,
    rate: rateOf(fold, request, sequences, from),
    blocks: all.size,
    sharedBlocks: [...all].filter((block) => blocks.count[block]! > 1).length,
    sequences,
    story,
  };
}

/** A request has one reason for all its sequences: how each one ended shows in its tokens. */
function endOf(
  said: Said | null,
  most: number | undefined,
  ending: Ending | null,
  { eos }: RequestSources,
): SequenceAnswer['end'] {
  if (said === null || said.last === null) return null;
  if (eos.has(said.last)) return 'stop';
  if (ending !== null && ending.reason !== 'stop' && ending.reason !== 'length') return null;
  return eos.size > 0 || said.tokens >= (most ?? Number.POSITIVE_INFINITY) ? 'length' : null;
}

function rateOf(
  fold: Fold,
  request: number,
  sequences: readonly SequenceAnswer[],
  from: RequestSources,
): number | null {
  let first = Number.POSITIVE_INFINITY;
  let last = -1;
  const records: number[][] = [];
  for (const { sequence } of sequences) {
    const branch = from.texts.transcripts.get(request)?.branches.get(sequence);
    const own = branch?.records.filter((record) => record <= fold.record) ?? [];
    if (own.length === 0) continue;
    records.push(own);
    first = Math.min(first, own[0]!);
    last = Math.max(last, own.at(-1)!);
  }
  if (last <= first) return null;
  const began = from.series.timeOf(first);
  const ended = from.series.timeOf(last);
  if (began === null || ended === null || ended <= began) return null;
  const tokens = records.reduce((sum, own) => sum + own.filter((record) => record > first).length, 0);
  return (tokens * 1e9) / (ended - began);
}
