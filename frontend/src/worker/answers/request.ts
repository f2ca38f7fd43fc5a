/** A request as of the present record: state, blocks, what was said, how fast; for the inspector and the playground. */

import type { Fold } from '../../ledger/fold';
import type { Reason, RequestStateName } from '../../ledger/requests';
import { type Known, NOT_RECORDED } from '../careers';
import { toldBy } from '../operation';
import type { Series } from '../series';
import type { Texts } from '../texts';
import type { Ending, SubmitArgs } from '../told';
import type { EventList } from './events';
import type { RequestText, Said, Sayings } from './said';

export interface SequenceAnswer {
  readonly sequence: number;
  readonly label: string;
  readonly index: number;
  /** The label of the sequence that it was forked from; null: it is the first one. */
  readonly parent: string | null;
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
  /** How it ended by itself; null: it has not, or nobody knows. */
  readonly end: End | null;
}

export interface End {
  readonly reason: string;
  /** The stop id or the stop string that was met. */
  readonly by: number | string | null;
}

/** A whole answer of a beam search. */
export interface AnswerRow {
  readonly rank: number;
  readonly sequence: number;
  readonly label: string;
  readonly score: number;
  readonly reason: 'stop' | 'length';
  readonly step: number;
  readonly tokens: number | null;
  readonly said: Said | null;
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
  /** Beams of a search; null: it is none. */
  readonly beamWidth: number | null;
  readonly loraName: string | null;
  readonly cacheSalt: string | null;
  /** What the command that submitted it asked for; null: it is on its way. */
  readonly submit: Known<SubmitArgs> | null;
  readonly reason: Reason | null;
  /** How it ended, if it did by the present record. */
  readonly ending: Ending | null;
  readonly text: RequestText;
  /** Tokens a second, all sequences together, from the first to the last of them; null: not enough of them. */
  readonly rate: number | null;
  /** Blocks that its sequences hold together, and how many of these are shared. */
  readonly blocks: number;
  readonly sharedBlocks: number;
  /** Of a beam search: the beams that live at this record. */
  /** The most tokens that one of its sequences has written: one that has ended holds none any more. */
  readonly written: number;
  readonly sequences: readonly SequenceAnswer[];
  /** What a beam search found by this record, best first; the first n are its answers. */
  readonly answers: readonly AnswerRow[];
  readonly story: EventList | null;
}

/** What the answers about requests are made of, beside the fold. */
export interface RequestSources {
  readonly texts: Texts;
  readonly sayings: Sayings;
  readonly series: Series;
  /** Blocks that a copy made, with the generation that it began. */
  readonly copied: ReadonlyMap<number, number>;
}

/** The sequences of a request at the present record: those in the engine, else those that it had. Of beams, who lives. */
function sequencesOf(
  fold: Fold,
  request: number,
  from: RequestSources,
): { id: number; index: number; parent: number | null; dropped: boolean }[] {
  const found = new Map<number, { id: number; index: number; parent: number | null; dropped: boolean }>();
  const isBeamSearch = fold.requests.facts.get(request)?.beamWidth != null;
  if (!isBeamSearch)
    for (const [id, branch] of from.texts.transcripts.get(request)?.branches ?? []) {
      if (branch.created <= toldBy(fold))
        found.set(id, { id, index: branch.index, parent: branch.parent, dropped: false });
    }
  for (const [id, row] of fold.requests.sequences) {
    if (row.request === request && !(isBeamSearch && row.dropped))
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
  // Within a step a request that is gone has met its end.
  const endedBy = state === null ? fold.record : toldBy(fold);
  const ending = last !== null && last.record <= endedBy ? last : null;
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
    const decodes =
      fold.rest === 0 && state === 'running' && facts !== undefined && tokens >= facts.promptTokens;
    const length = decodes ? tokens + 1 - facts.promptTokens : null;
    const ended = dropped || ending !== null;
    const said = from.sayings.sequence(request, id, toldBy(fold), length, !ended);
    return {
      sequence: id,
      label: requests.memory.label(id),
      index,
      parent: parent === null ? null : requests.memory.label(parent),
      blocks: table?.size ?? 0,
      shared,
      tokens,
      table: table?.blocks.slice(0, table.end) ?? new Uint32Array(0),
      copies,
      said,
      dropped,
      end: endOf(fold, request, id, ending, from),
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
    beamWidth: facts?.beamWidth ?? null,
    loraName: facts?.loraName ?? null,
    cacheSalt: facts?.cacheSalt ?? null,
    submit: submitOf(fold, request, from.texts),
    reason: requests.reason(request),
    ending,
    text,
    rate: rateOf(fold, request, sequences, from),
    blocks: all.size,
    sharedBlocks: [...all].filter((block) => blocks.count[block]! > 1).length,
    written: Math.max(0, ...sequences.map(({ tokens }) => tokens)),
    sequences,
    answers: answersOf(fold, request, from),
    story,
  };
}

function submitOf(fold: Fold, request: number, { recorded, transcripts }: Texts): RequestAnswer['submit'] {
  const found = transcripts.get(request)?.submit ?? null;
  if (found !== null) return found;
  // Only who has all that was told of it can say that this was not.
  return !recorded || transcripts.complete(request, toldBy(fold)) ? NOT_RECORDED : null;
}

function answersOf(fold: Fold, request: number, { texts, sayings }: RequestSources): AnswerRow[] {
  return texts.transcripts.hypotheses(request, toldBy(fold)).map((each): AnswerRow => {
    const { rank, sequence, score, reason, step } = each;
    const label = fold.requests.memory.label(sequence);
    const tokens = each.tokens?.length ?? null;
    return { rank, sequence, label, score, reason, step, tokens, said: sayings.answer(request, each) };
  });
}

/** How a sequence ended: by itself before the others, or as one of those that were left when its request did. */
function endOf(
  fold: Fold,
  request: number,
  sequence: number,
  ending: Ending | null,
  { texts }: RequestSources,
): End | null {
  const { transcripts } = texts;
  const own = transcripts.get(request)?.branches.get(sequence)?.ending ?? null;
  if (own !== null && own.record <= toldBy(fold))
    return own.reason === null ? null : { reason: own.reason, by: own.stop_reason ?? null };
  if (ending?.kind !== 'finished' || ending.reason === null) return null;
  // Its own end may lie in a gap.
  const from = transcripts.get(request)?.submitted ?? -1;
  if (transcripts.gaps.some((gap) => gap.last >= from && gap.first <= ending.record)) return null;
  return { reason: ending.reason, by: ending.stop_reason ?? null };
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
    const own = branch?.records.filter((record) => record <= toldBy(fold)) ?? [];
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
