/**
 * Fetches what a seek to where the pointer rests would bring, before it is pressed.
 *
 *     pointer   ──────●  rests           pressed ▼
 *     server          └── asked ── answer ────────┤ folded, drawn
 *
 * One place at a time, the latest; what is not gone to is thrown away with the next one.
 */

import type { Base } from '../ledger/difference';
import type { Fold } from '../ledger/fold';
import type { History } from './history';
import type { Series } from './series';
import type { Requests } from './source';

export interface Foreseen {
  readonly step: number;
  /** What the answer may tell the changes since. */
  readonly base: Base | null;
  readonly answer: Promise<Uint8Array[]>;
  readonly abort: AbortController;
}

export class Foresight {
  private foreseen: Foreseen | null = null;

  constructor(
    private readonly requests: Pick<Requests, 'seek'>,
    private readonly fold: Pick<Fold, 'record'>,
    private readonly history: History,
    private readonly series: Series,
    /** Is the reader on the way somewhere? */
    private readonly isMoving: () => boolean,
  ) {}

  /** The pointer rests on a step; null: on none. */
  expect(step: number | null): void {
    if (step !== null && this.foreseen?.step === step) return;
    this.forget();
    if (step === null || this.isMoving() || this.isHere(step)) return;
    const { bases } = this.history;
    const base = bases.before(this.series.get('record', step));
    // Of a large pool a whole state is too much for a guess.
    if (base === null && bases.isKept) return;
    const abort = new AbortController();
    const answer = this.requests.seek(step, base?.record ?? null, abort.signal);
    const foreseen = { step, base, answer, abort };
    this.foreseen = foreseen;
    answer.catch(() => {
      // Not needed: a seek asks again, and says what is wrong.
      if (this.foreseen === foreseen) this.foreseen = null;
    });
  }

  /** Can the step be reached without the server, or is it not known where it is? */
  private isHere(step: number): boolean {
    const { history, fold } = this;
    const record = this.series.get('record', step);
    if (Number.isNaN(record) || history.snapshotBefore(record) !== undefined) return true;
    return history.holds(Math.min(fold.record, record - 1), Math.max(fold.record, record));
  }

  /** It rests nowhere. */
  forget(): void {
    this.foreseen?.abort.abort();
    this.foreseen = null;
  }

  /** What came for a step, or is on its way: its taker's from then on. What was meant for another step is dropped. */
  take(step: number): Foreseen | null {
    const { foreseen } = this;
    if (foreseen?.step !== step) {
      this.forget();
      return null;
    }
    this.foreseen = null;
    return foreseen;
  }
}
