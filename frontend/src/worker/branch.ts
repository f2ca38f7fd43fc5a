/** What one sequence sampled itself: a token and the record of its step, one for one, in the order of the records. */

import type { Likely } from '../ledger/logprobs';
import { LOST } from './pieces';
import type { SequenceEnding } from './told';

/** The first place in a sorted list that holds at least `value`. */
export function lowerBound(list: readonly number[], value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A token that was sampled, and how likely it was, if its request asked for that. */
export interface SampledToken {
  readonly token: number;
  readonly likely: Likely | null;
}

export class Branch {
  readonly tokens: number[] = [];
  readonly records: number[] = [];
  /** By the record: how likely its tokens were. Empty where nobody asked. */
  private readonly likely = new Map<number, readonly (Likely | null)[]>();
  /** Likely tokens that are kept, beside the sampled ones. */
  private told = 0;
  ending: SequenceEnding | null = null;

  constructor(
    readonly index: number,
    readonly parent: number | null,
    /** The record of the step that created it: before that, its parent spoke for it. */
    readonly created: number,
  ) {}

  /** The same tokens under facts that are known better now. */
  as(index: number, parent: number | null, created: number): Branch {
    const made = new Branch(index, parent, created);
    made.take(this, -1);
    made.ending = this.ending;
    return made;
  }

  /** What another one has at records after `after`, behind all that is here. */
  take(other: Branch, after: number): void {
    other.records.forEach((record, i) => {
      if (record <= after) return;
      this.records.push(record);
      this.tokens.push(other.tokens[i]!);
    });
    for (const [record, likely] of other.likely) if (record > after) this.tell(record, likely);
  }

  /** How much is kept: tokens, the likely ones among them. */
  get size(): number {
    return this.tokens.length + this.told;
  }

  /** Does anybody ask how likely its tokens were? */
  get isAsked(): boolean {
    return this.likely.size > 0;
  }

  /** A token at the end. */
  push(record: number, token: number, likely: Likely | null): void {
    this.tokens.push(token);
    this.records.push(record);
    const known = this.likely.get(record) ?? [];
    if (likely === null && known.length === 0) return;
    // Of several tokens of one step the earlier ones may have none.
    const before = this.tokens.length - 1 - lowerBound(this.records, record) - known.length;
    this.tell(record, [...known, ...new Array<null>(before).fill(null), likely]);
  }

  /** The tokens of a step, in their place. */
  insert(record: number, sampled: readonly SampledToken[]): void {
    const at = lowerBound(this.records, record);
    const isKnown = this.records[at] === record;
    // It is here already, unless it is known as lost.
    if (isKnown && this.tokens[at] !== LOST) return;
    if (at === this.records.length) {
      // Nearly always: without the arrays that a splice takes.
      for (const { token } of sampled) {
        this.tokens.push(token);
        this.records.push(record);
      }
    } else {
      const tokens = sampled.map(({ token }) => token);
      this.tokens.splice(at, isKnown ? tokens.length : 0, ...tokens);
      if (!isKnown) this.records.splice(at, 0, ...tokens.map(() => record));
    }
    if (sampled.every((each) => each.likely === null)) return;
    this.tell(
      record,
      sampled.map((each) => each.likely),
    );
  }

  private tell(record: number, likely: readonly (Likely | null)[]): void {
    const weigh = (each: Likely | null): number => (each === null ? 0 : 1 + each.top.length);
    const before = this.likely.get(record) ?? [];
    for (const each of before) this.told -= weigh(each);
    for (const each of likely) this.told += weigh(each);
    this.likely.set(record, likely);
  }

  /** How likely the token at a place was; null: nobody asked, or it is not known. */
  likelyAt(place: number): Likely | null {
    if (this.likely.size === 0) return null;
    const record = this.records[place]!;
    return this.likely.get(record)?.[place - lowerBound(this.records, record)] ?? null;
  }
}
