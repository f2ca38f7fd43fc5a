/** Loads what lies beside the part of a session that is here: earlier, later, and ahead of a reader that moves on. */

import type { Fold } from '../ledger/fold';
import { peekFrame } from '../ledger/peek';
import type { History } from './history';
import type { Requests } from './source';

/** How much is loaded when the reader asks for earlier records. */
const EARLIER_RECORDS = 3000;
const PORTION = 4 << 20;
/** Not more than this lies ready in front of a reader that plays. */
const MOST_AHEAD = 12 << 20;

export class Beside {
  private reachedEnd = -1;
  /** No record before this one can be had: a session's first is 0, a part's is not. */
  private begin = 0;
  private fetching = false;

  constructor(
    private readonly fold: Fold,
    private readonly history: History,
    private readonly requests: Pick<Requests, 'frames'>,
    private readonly lastRecord: () => number,
    private readonly wake: () => void,
  ) {}

  get hasEarlier(): boolean {
    const range = this.history.rangeAt(this.fold.record);
    return range !== undefined && range.first > this.begin;
  }

  /** Load some of what lies before the part that holds a record; false when there is nothing before it. */
  async loadEarlier(records = EARLIER_RECORDS, from = this.fold.record): Promise<boolean> {
    const range = this.history.rangeAt(from);
    if (range === undefined || range.first <= this.begin) return false;
    const { first } = range;
    const goal = first - 1;
    let after = Math.max(-1, goal - records);
    while (after < goal) {
      const frames = await this.requests.frames(after, PORTION);
      const last = frames.length === 0 ? null : peekFrame(frames.at(-1)!).record;
      if (last === null || last <= after) break;
      this.history.addAll(frames);
      after = last;
    }
    if (this.history.rangeAt(from)?.first === first) this.begin = first;
    this.wake();
    return true;
  }

  get hasLater(): boolean {
    const range = this.history.rangeAt(this.fold.record);
    return range !== undefined && range.last < this.lastRecord() && range.last > this.reachedEnd;
  }

  /** The last record that can be reached from here while what comes next is on its way; null: nothing is. */
  get halt(): number | null {
    return this.fetching ? (this.history.rangeAt(this.fold.record)?.last ?? null) : null;
  }

  /** Ask for what comes next, up to about record `through`, before the reader gets there. */
  async ahead(through: number): Promise<void> {
    if (this.fetching) return;
    this.fetching = true;
    try {
      for (let loaded = 0; loaded < MOST_AHEAD; ) {
        const range = this.history.rangeAt(this.fold.record);
        if (range === undefined || range.last >= through || !this.hasLater) return;
        const frames = await this.requests.frames(range.last, loaded === 0 ? PORTION / 4 : PORTION);
        this.history.focus = this.fold.record;
        if (frames.length === 0) this.reachedEnd = range.last;
        this.history.addAll(frames);
        for (const frame of frames) loaded += frame.length;
        this.wake();
      }
    } catch {
      // Not needed yet: a seek will say what is wrong.
    } finally {
      this.fetching = false;
    }
  }
}
