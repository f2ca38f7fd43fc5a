/**
 * The answers that one beam search finds, with the records that tell of them: `said` tokens of a sequence, then `token`.
 *
 *     r21.4    271 318 9 (up to record 44)  ──▶  hypothesis (46): 3 tokens of r21.4, then 2, score −0.53
 */

import type { Step } from '../ledger/generated/types';

/** A whole answer; of rank 0 is the best. Its tokens end with that by which it ended; null: they are not known. */
export interface Answer {
  readonly rank: number;
  readonly sequence: number;
  readonly score: number;
  readonly reason: 'stop' | 'length';
  readonly record: number;
  readonly step: number;
  readonly tokens: readonly (number | null)[] | null;
}

interface Hypothesis extends Omit<Answer, 'rank' | 'tokens'> {
  readonly said: number;
  readonly token: number | null;
}

export class Hypotheses {
  /** In the order of their records, and of one record in the order in which it tells them. */
  private list: Hypothesis[] = [];

  /** A fold applied a step that tells of `request`; it may be here already. */
  note({ record, step, decisions }: Step, request: number): void {
    if (this.list.some((each) => each.record === record)) return;
    for (const decision of decisions ?? []) {
      if (decision.kind !== 'hypothesis' || decision.request !== request) continue;
      const { sequence, score, reason, tokens: said, token } = decision;
      this.list.push({ sequence, score, reason, record, step, said, token: token ?? null });
    }
    this.list.sort((a, b) => a.record - b.record);
  }

  /** The server tells all up to a record, the best first. */
  merge(told: readonly Answer[], through: number): void {
    const known = told.map(({ rank: _, tokens, ...each }) => ({
      ...each,
      said: (tokens?.length ?? 0) - 1,
      token: tokens?.at(-1) ?? null,
    }));
    const since = this.list.filter((each) => each.record > through);
    this.list = [...known.sort((a, b) => a.record - b.record), ...since];
  }

  /**
   * What was found up to a record, the best first; of equal scores the earlier. `said` gives what a sequence had sampled up
   * to a record.
   */
  best(record: number, said: (sequence: number, record: number) => number[]): Answer[] {
    return this.list
      .filter((each) => each.record <= record)
      .sort((a, b) => b.score - a.score)
      .map(({ said: count, token, ...each }, rank) => {
        const tokens = said(each.sequence, each.record - 1);
        return {
          ...each,
          rank,
          tokens: token === null || tokens.length !== count ? null : [...tokens, token],
        };
      });
  }
}
