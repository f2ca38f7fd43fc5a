/** What was said, as of a record: the prompt of a request, what its sequences sampled, and the tokens in a block's slots. */

import type { Fold } from '../../ledger/fold';
import { NONE } from '../../ledger/generated/constants';
import type { RequestMemory } from '../../ledger/requests';
import { Joiner, join, LOST, type Part, partsOf, type Span } from '../pieces';
import type { Texts } from '../texts';
import type { Line, RankedHypothesis } from '../transcripts';

export interface Said {
  readonly spans: readonly Span[];
  /** How many tokens it has, those that are not shown included (as far as they are recorded). */
  readonly tokens: number;
  /** How many of them are left out: at the end of a prompt, at the beginning of what is sampled. */
  readonly cut: number;
  readonly odds: SaidOdds | null;
}

/** Tokens one by one, where their request asked how likely they were. */
export interface Odds {
  readonly sequence: number;
  /** The place in the sequence of the first token here: its prompt does not count. In a block it may be one of the prompt. */
  readonly first: number;
  /** By the token: the natural log of its probability, NaN where that is not known. */
  readonly logprobs: Float32Array;
}

/** The parts of what a sequence said, whose places count from `first`. */
export interface SaidOdds extends Odds {
  readonly parts: readonly Part[];
  readonly ids: Uint32Array;
}

export interface RequestText {
  /** `none`: this session's text is not recorded; `loading`: more is on its way. */
  readonly state: 'here' | 'loading' | 'none';
  readonly prompt: Said | null;
  /** Why there is no prompt. */
  readonly why: string | null;
}

export interface LikelyToken {
  readonly token: number;
  readonly piece: string | null;
  readonly logprob: number;
}

/** A token of a sequence, by its place behind the prompt; `rank`: how many were at least as likely. */
export interface TokenAnswer extends LikelyToken {
  readonly sequence: number;
  readonly place: number;
  readonly rank: number;
  readonly top: readonly LikelyToken[];
}

/** A block's slots, as many as are filled: the token (null: not known) and its piece (null: it has no text). */
export interface Slots {
  readonly tokens: readonly (number | null)[];
  readonly pieces: readonly (string | null)[];
  /** null: nobody asked. */
  readonly odds: Odds | null;
  readonly state: 'here' | 'loading' | 'none';
}

/** More tokens than this are not sent to the page. */
const MOST_OF_PROMPT = 2000;
const MOST_SAMPLED = 4000;
/** One by one they weigh more. */
const MOST_ODDS = 1000;
/** Tokens of a content's text that are shown in place of its id. */
const START = 24;

const NO_SLOTS: Slots = { tokens: [], pieces: [], odds: null, state: 'none' };

export class Sayings {
  /** What was joined last, by request and sequence (-1: the prompt), while nothing of it changes. */
  private readonly joined = new Map<string, { key: string; said: Said }>();

  constructor(private readonly texts: Texts) {}

  /** The prompt, and whether all that was said up to the record is here. */
  request(request: number, record: number): RequestText {
    const { texts } = this;
    if (!texts.recorded) return { state: 'none', prompt: null, why: null };
    const here = texts.want(request, record);
    const found = texts.transcripts.get(request);
    const state = here ? 'here' : 'loading';
    if (found === undefined || (found.submitted !== null && found.submitted > record))
      return { state, prompt: null, why: null };
    const { prompt } = found;
    if (prompt === null) return { state, prompt: null, why: found.why };
    const cut = Math.max(0, prompt.length - MOST_OF_PROMPT);
    const said = this.keep(`${request}`, `${prompt.length}`, () => ({
      spans: join(prompt.slice(0, MOST_OF_PROMPT), texts.pieces),
      tokens: prompt.length,
      cut,
      odds: null,
    }));
    return { state, prompt: said, why: null };
  }

  /**
   * What a sequence sampled up to a record. `length`: how many tokens it must have sampled; null: nobody knows.
   * `grows`: more comes, so that a character of which a part is here can wait for the rest.
   */
  sequence(
    request: number,
    sequence: number,
    record: number,
    length: number | null,
    grows = false,
  ): Said | null {
    const { texts } = this;
    if (!texts.recorded) return null;
    const { tokens, records, likely } = texts.transcripts.sampled(request, sequence, record);
    const gaps = this.gapsOf(request, record);
    const lost = length === null || gaps.length !== 1 ? null : length - tokens.length;
    const isWhole = likely !== null && gaps.length === 0 && !tokens.includes(LOST);
    const key = `${tokens.length} ${gaps.length} ${lost} ${tokens.at(-1)} ${grows} ${isWhole}`;
    return this.keep(`${request}.${sequence}`, key, () => {
      const cut = Math.max(0, tokens.length - (isWhole ? MOST_ODDS : MOST_SAMPLED));
      const joiner = new Joiner(texts.pieces);
      let gap = 0;
      for (let i = cut; i < tokens.length; i++) {
        for (; gap < gaps.length && gaps[gap]!.first < records[i]!; gap++) this.mark(joiner, lost);
        joiner.add(tokens[i]!);
      }
      for (; gap < gaps.length; gap++) this.mark(joiner, lost);
      const odds = isWhole ? this.odds(sequence, cut, tokens.slice(cut), likely.slice(cut), grows) : null;
      return { spans: joiner.finish(grows), tokens: tokens.length, cut, odds };
    });
  }

  private odds(
    sequence: number,
    first: number,
    tokens: readonly number[],
    likely: Line['likely'] & object,
    grows: boolean,
  ): SaidOdds {
    return {
      sequence,
      first,
      logprobs: Float32Array.from(likely, (each) => each?.logprob ?? Number.NaN),
      parts: partsOf(
        tokens.map((token) => this.texts.pieces.get(token) ?? null),
        grows,
      ),
      ids: Uint32Array.from(tokens),
    };
  }

  /** A whole answer of a beam search; null: it is not recorded. */
  answer(request: number, answer: RankedHypothesis): Said | null {
    const { tokens } = answer;
    if (tokens === null || tokens.includes(LOST)) return null;
    const of = `${request} ${answer.sequence} ${answer.record} ${tokens.at(-1)}`;
    return this.keep(of, `${tokens.length}`, () => ({
      spans: join(tokens, this.texts.pieces),
      tokens: tokens.length,
      cut: 0,
      odds: null,
    }));
  }

  /** A token that a sequence sampled, and what else it could have been; null: that is not known at the record. */
  token(sequence: number, place: number, record: number, memory: RequestMemory): TokenAnswer | null {
    const { transcripts, pieces } = this.texts;
    const { tokens, likely } = transcripts.sampled(memory.requestOf(sequence), sequence, record);
    const token = tokens[place];
    const told = likely?.[place];
    if (token === undefined || told == null) return null;
    const named = ([id, logprob]: readonly [number, number]): LikelyToken => ({
      token: id,
      piece: pieces.get(id) || null,
      logprob,
    });
    const { logprob, rank, top } = told;
    return { sequence, place, ...named([token, logprob]), rank, top: top.map(named) };
  }

  private mark(joiner: Joiner, lost: number | null): void {
    if (lost === null || lost > 0) joiner.missing(lost);
  }

  /** The gaps in a request's life up to a record. */
  private gapsOf(request: number, record: number): readonly { first: number; last: number }[] {
    const { transcripts } = this.texts;
    if (transcripts.gaps.length === 0) return transcripts.gaps;
    const found = transcripts.get(request);
    const from = found?.submitted ?? -1;
    const to = Math.min(record, found?.ending?.record ?? record);
    return transcripts.gaps.filter((gap) => gap.last >= from && gap.first <= to);
  }

  private keep(of: string, key: string, make: () => Said): Said {
    const whole = `${key} ${this.texts.pieces.size}`;
    const found = this.joined.get(of);
    if (found?.key === whole) return found.said;
    const said = make();
    this.joined.delete(of);
    this.joined.set(of, { key: whole, said });
    if (this.joined.size > 300) {
      const [oldest] = this.joined.keys();
      this.joined.delete(oldest!);
    }
    return said;
  }

  // -- blocks ---------------------------------------------------------------------------------------------------------

  /** The tokens in a block's slots: of its content, else of the sequence that holds it. */
  slots(fold: Fold, block: number): Slots {
    const { texts } = this;
    const filled = fold.blocks.filled[block]!;
    if (!texts.recorded || filled === 0) return NO_SLOTS;
    texts.wantPieces(fold.record);
    const content = fold.blocks.content[block]!;
    if (content !== NONE) {
      const tokens = texts.content(content);
      if (tokens == null)
        return { tokens: [], pieces: [], odds: null, state: tokens === null ? 'none' : 'loading' };
      return this.named(Array.from(tokens.subarray(0, filled)), 'here', this.oddsOf(fold, block, filled));
    }
    for (const holder of fold.tables.holders(block)) {
      const request = fold.requests.memory.requestOf(holder.sequence);
      if (request < 0) continue;
      const here = texts.want(request, fold.record);
      const from = holder.position * fold.blockSize;
      const tokens = this.line(request, holder.sequence, fold.record, from, from + filled);
      return this.named(tokens, here ? 'here' : 'loading', this.oddsOf(fold, block, filled));
    }
    return NO_SLOTS;
  }

  /** How likely the tokens in a block were, of the first of its holders that asked. */
  private oddsOf(fold: Fold, block: number, filled: number): Odds | null {
    const { transcripts } = this.texts;
    for (const { sequence, position } of fold.tables.holders(block)) {
      const request = fold.requests.memory.requestOf(sequence);
      const prompt = transcripts.get(request)?.prompt;
      if (prompt == null || !transcripts.complete(request, fold.record)) continue;
      const { likely } = transcripts.sampled(request, sequence, fold.record);
      const first = position * fold.blockSize - prompt.length;
      if (likely === null || first + filled <= 0) continue;
      const logprobs = Float32Array.from(
        { length: filled },
        (_, slot) => likely[first + slot]?.logprob ?? Number.NaN,
      );
      return { sequence, first, logprobs };
    }
    return null;
  }

  /** Tokens of a sequence by their positions, the prompt's included; null where a gap makes them uncertain. */
  private line(
    request: number,
    sequence: number,
    record: number,
    from: number,
    to: number,
  ): (number | null)[] {
    const { transcripts } = this.texts;
    const prompt = transcripts.get(request)?.prompt ?? null;
    if (prompt === null) return new Array<null>(to - from).fill(null);
    const { tokens, records } = transcripts.sampled(request, sequence, record);
    const gap = this.gapsOf(request, record)[0]?.first ?? Number.POSITIVE_INFINITY;
    const line: (number | null)[] = [];
    for (let position = from; position < to; position++) {
      const i = position - prompt.length;
      const token = i < 0 ? prompt[position]! : records[i]! < gap ? tokens[i] : undefined;
      line.push(token === undefined || token === LOST ? null : token);
    }
    return line;
  }

  private named(tokens: (number | null)[], state: Slots['state'], odds: Odds | null): Slots {
    const pieces = tokens.map((token) => (token === null ? null : this.texts.pieces.get(token) || null));
    return { tokens, pieces, odds, state };
  }

  /** The parent of a content that no record here told; null: not known, or not yet. */
  parent(content: number): number | null {
    return this.texts.parent(content);
  }

  /** How the text of a content begins; null: not known (yet). What is not here is asked for only if it is `wanted`. */
  start(content: number, record: number, wanted = true): string | null {
    const { texts } = this;
    if (wanted) texts.wantPieces(record);
    const tokens = wanted ? texts.content(content) : texts.contents.get(content);
    if (tokens == null) return null;
    const [first] = join(tokens.subarray(0, START), texts.pieces, true);
    return first !== undefined && 'text' in first ? first.text : null;
  }
}
