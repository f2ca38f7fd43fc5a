/**
 * Keeps a slow map from slowing everything else: without a GPU a drawing may take longer than a frame, and the page
 * waits for it. What is drawn costs at most half of the time, then; where it is fast, every frame is drawn.
 *
 *     drawn ─▶ next frame    17   17   84   17   33   17 ms    a machine with much to do: each drawing is fast
 *                            52   60   51   84   58   66       the map is slow
 */

const SLOW_MS = 30;
const MOST_MS = 150;
/** Of so many drawings the fastest one tells what a drawing costs: what else delays a frame does not delay each. */
const TAKES = 4;

export class Pace {
  private drewAt = Number.NEGATIVE_INFINITY;
  private measuring = false;
  /** How long the frame after each of the last drawings took to come. */
  private readonly took: number[] = [];

  private get cost(): number {
    return this.took.length < TAKES ? 0 : Math.min(...this.took);
  }

  /** A frame begins. May the map be drawn in it? */
  frame(now: number): boolean {
    if (this.measuring) {
      this.measuring = false;
      this.took.push(Math.min(MOST_MS, now - this.drewAt));
      if (this.took.length > TAKES) this.took.shift();
    }
    const { cost } = this;
    return cost <= SLOW_MS || now - this.drewAt >= 2 * cost;
  }

  /** It was. */
  drew(now: number): void {
    this.drewAt = now;
    this.measuring = true;
  }
}
