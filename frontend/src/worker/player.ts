/**
 * Where a view that plays should be, by the time that has passed.
 *
 *     recorded      │▁│▁▁▁│▁│▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁│▁│    as it was: steps when they were sealed, pauses and all
 *     times 10      ││││▁▁▁││                           the same ten times as fast, no pause longer than a second
 *     steps 4       │▁▁│▁▁│▁▁│▁▁│▁▁│                    so many steps a second, whatever time they took
 *     operations 4  └┴┴┴┘                               so many operations a second: through every step, one by one
 *
 * The clock stands while the view has not come where it was sent: what was not shown is not skipped.
 */

import { type Place, whole } from './place';
import type { Series } from './series';

export type Pace =
  | { readonly kind: 'recorded' }
  /** So many times the recorded pace, long pauses cut. */
  | { readonly kind: 'times'; readonly factor: number }
  /** So many a second. */
  | { readonly kind: 'steps' | 'operations'; readonly rate: number };

/** ms for which a pause is shown where pauses are cut. */
const PAUSE = 1000;
/** ms for which the clock runs on though the view has not come yet. */
const GRACE = 100;
/** ms after which a view that has not come is told to stall. */
const STALL = 400;
/** ms that may pass at once: a machine that slept goes on where it was. */
const LONGEST = 1000;
/** ms of playing that should lie ready ahead. */
const AHEAD = 2000;

/** Where the player begins: a step, the operation behind which the view stands, and when. */
export interface Beginning {
  readonly step: number;
  readonly operation: number;
  readonly time: number;
}

export class Player {
  /** ns of the session, steps, or operations behind which the view stands: with a fraction. */
  private cursor: number;
  private last: number;
  private waiting: number | null = null;
  /** Has the view been waited for so long that it should be said? */
  stalled = false;

  constructor(
    private readonly series: Series,
    readonly pace: Pace,
    from: Beginning,
    /** ms of a clock that only grows. */
    now: number,
  ) {
    this.cursor = pace.kind === 'steps' ? from.step : pace.kind === 'operations' ? from.operation : from.time;
    this.last = now;
  }

  /** What the cursor gains in so many ms. */
  private gain(ms: number): number {
    const { pace } = this;
    if (pace.kind === 'recorded') return ms * 1e6;
    if (pace.kind === 'times') return ms * 1e6 * pace.factor;
    return (ms / 1000) * pace.rate;
  }

  private placeAt(cursor: number): Place {
    const { series, pace } = this;
    if (pace.kind === 'steps') return whole(Math.floor(cursor));
    if (pace.kind !== 'operations') return whole(series.last('time', cursor));
    const operation = Math.floor(cursor);
    return { step: series.last('op', operation), operation };
  }

  /** Where the view should be now. `there`: is it where it was sent last? */
  next(now: number, there: boolean): Place {
    const passed = Math.min(LONGEST, Math.max(0, now - this.last));
    this.last = now;
    if (there) this.waiting = null;
    else this.waiting ??= now;
    const waited = this.waiting === null ? 0 : now - this.waiting;
    this.stalled = waited > STALL;
    if (waited > GRACE) return this.placeAt(this.cursor);
    this.cursor += this.gain(passed);
    if (this.pace.kind === 'times') {
      const next = this.series.get('time', this.series.last('time', this.cursor) + 1);
      if (next > this.cursor) this.cursor = Math.max(this.cursor, next - this.gain(PAUSE));
    }
    return this.placeAt(this.cursor);
  }

  /** The step up to which the session should lie ready. */
  get ahead(): number {
    return this.placeAt(this.cursor + this.gain(AHEAD)).step;
  }
}
