/**
 * The whole answers that a beam search found, in the order in which it found them.
 *
 *     r7.12   271 318 42              an answer of 4 tokens: the first 3 of r7.12's line, and the one that ended it
 *                        └ 2          (which enters no sequence)
 */

import type { Hypothesis as Decision } from '../ledger/generated/types';
import type { Told } from './told';

export interface Hypothesis {
  readonly sequence: number;
  readonly score: number;
  readonly reason: 'stop' | 'length';
  readonly record: number;
  readonly step: number;
  /** How many tokens its sequence had sampled before, and the one behind them (null: none, or not recorded). */
  readonly taken: number;
  readonly token: number | null;
}

export class Hypotheses {
  private readonly found: Hypothesis[] = [];

  /** Those of one step, in their order; they take the place of what was known of that record. */
  note(record: number, step: number, decisions: readonly Decision[]): void {
    const before = this.found.filter((each) => each.record < record);
    const after = this.found.filter((each) => each.record > record);
    const now = decisions.map(
      ({ sequence, score, reason, tokens, token }): Hypothesis => ({
        ...{ sequence, score, reason, record, step },
        ...{ taken: tokens, token: token ?? null },
      }),
    );
    this.found.splice(0, this.found.length, ...before, ...now, ...after);
  }

  /** What the server knows, up to a record. */
  merge(told: NonNullable<Told['hypotheses']>, through: number): void {
    const later = this.found.filter((each) => each.record > through);
    const known = told.map((each): Hypothesis => {
      const { sequence, score, reason, record, step, tokens } = each;
      const taken = Math.max(0, (tokens?.length ?? 0) - 1);
      return { sequence, score, reason, record, step, taken, token: tokens?.at(-1) ?? null };
    });
    // Best first, and of equal ones the earlier first: by their records they are in the order in which they were found.
    known.sort((a, b) => a.record - b.record);
    this.found.splice(0, this.found.length, ...known, ...later);
  }

  /** Those that were found up to a record, best first; of equal ones the earlier first. */
  at(record: number): readonly Hypothesis[] {
    return this.found.filter((each) => each.record <= record).sort((a, b) => b.score - a.score);
  }
}
