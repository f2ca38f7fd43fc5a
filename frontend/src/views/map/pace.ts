/**
 * Keeps a slow map from slowing everything else: without a GPU a drawing may take longer than a frame, and the page
 * waits for it. What is drawn costs at most half of the time, then; where it is fast, every frame is drawn.
 */

const SLOW_MS = 30;
const MOST_MS = 150;

export class Pace {
  private drewAt = Number.NEGATIVE_INFINITY;
  private measuring = false;
  /** How long the frame after a drawing takes to come, smoothed. */
  private cost = 0;

  /** A frame begins. May the map be drawn in it? */
  frame(now: number): boolean {
    if (this.measuring) {
      this.measuring = false;
      this.cost += (Math.min(MOST_MS, now - this.drewAt) - this.cost) * 0.2;
    }
    return this.cost <= SLOW_MS || now - this.drewAt >= 2 * this.cost;
  }

  /** It was. */
  drew(now: number): void {
    this.drewAt = now;
    this.measuring = true;
  }
}
