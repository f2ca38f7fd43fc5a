/**
 * A view that is moved on and on leaves time between its seeks: what each brings is to be drawn, too, by the same machine.
 *
 *     ├─ seek ─┤                  ├─ seek ─┤                  ├─ seek …
 *     ├─────────── turn ──────────┤            a seek has SHARE of its turn, which is never shorter than LEAST
 */

/** The part of a turn that a seek takes, by how long the latest ones took. */
export const SHARE = 0.4;
/** ms of a turn. */
export const LEAST = 60;
export const MOST = 400;

export class Turns {
  private last = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private length = LEAST;

  /** `wake` is called when it is the next one's turn. */
  constructor(private readonly wake: () => void) {}

  /** May a seek begin? One that somebody waits for who rests where it leads may at any time. */
  take(isDragged: boolean): boolean {
    const now = performance.now();
    const left = this.last + this.length - now;
    if (!isDragged || left <= 0) {
      this.last = now;
      return true;
    }
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.wake();
    }, left);
    return false;
  }

  /** What the seek brought is in the fold. One that took unusually long, as the first of a server may, counts for half. */
  over(): void {
    const took = performance.now() - this.last;
    this.length = Math.min(MOST, Math.max(LEAST, (this.length + took / SHARE) / 2));
  }
}
