/** What was said, as of a record: the prompt of a request, what its sequences sampled, and the tokens in a block's slots. */

import type { Fold } from '../../ledger/fold';
import { NONE } from '../../ledger/generated/constants';
import { Joiner, join, LOST, type Span } from '../pieces';
import type { Texts } from '../texts';

export interface Said {
  readonly spans: readonly Span[];
  /** How many tokens it has, those that are not shown included (as far as they are recorded). */
  readonly tokens: number;
  /** How many of them are left out: at the end of a prompt, at the beginning of what is sampled. */
  readonly cut: number;
  /** Its last token; null: it has none. */
  readonly last: number | null;
}

export interface RequestText {
  /** `none`: this session's text is not recorded; `loading`: more is on its way. */
  readonly state: 'here' | 'loading' | 'none';
  readonly prompt: Said | null;
  /** Why there is no prompt. */
  readonly why: string | null;
}

/** A block's slots, as many as are filled: the token (null: not known) and its piece (null: it has no text). */
export interface Slots {
  readonly tokens: readonly (number | null)[];
  readonly pieces: readonly (string | null)[];
  readonly state: 'here' | 'loading' | 'none';
}

/** More tokens than this are not sent to the page. */
const MOST_OF_PROMPT = 2000;
const MOST_SAMPLED = 4000;
/** Tokens of a content's text that are shown in place of its id. */
const START = 24;

const NO_SLOTS: Slots = { tokens: [], pieces: [], state: 'none' };

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
      last: prompt.at(-1) ?? null,
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
    const { tokens, records } = texts.transcripts.sampled(request, sequence, record);
    const gaps = this.gapsOf(request, record);
    const lost = length === null || gaps.length !== 1 ? null : length - tokens.length;
    const key = `${tokens.length} ${gaps.length} ${lost} ${tokens.at(-1)} ${grows}`;
    return this.keep(`${request}.${sequence}`, key, () => {
      const cut = Math.max(0, tokens.length - MOST_SAMPLED);
      const joiner = new Joiner(texts.pieces);
      let gap = 0;
      for (let i = cut; i < tokens.length; i++) {
        for (; gap < gaps.length && gaps[gap]!.first < records[i]!; gap++) this.mark(joiner, lost);
        joiner.add(tokens[i]!);
      }
      for (; gap < gaps.length; gap++) this.mark(joiner, lost);
      const last = tokens.at(-1) ?? null;
      return { spans: joiner.finish(grows), tokens: tokens.length, cut, last: last === LOST ? null : last };
    });
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
      if (tokens == null) return { tokens: [], pieces: [], state: tokens === null ? 'none' : 'loading' };
      return this.named(Array.from(tokens.subarray(0, filled)), 'here');
    }
    for (const holder of fold.tables.holders(block)) {
      const request = fold.requests.memory.requestOf(holder.sequence);
      if (request < 0) continue;
      const here = texts.want(request, fold.record);
      const from = holder.position * fold.blockSize;
      const tokens = this.line(request, holder.sequence, fold.record, from, from + filled);
      return this.named(tokens, here ? 'here' : 'loading');
    }
    return NO_SLOTS;
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

  private named(tokens: (number | null)[], state: Slots['state']): Slots {
    const pieces = tokens.map((token) => (token === null ? null : this.texts.pieces.get(token) || null));
    return { tokens, pieces, state };
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
