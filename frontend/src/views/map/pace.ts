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

  /** A frame begins. */
  frame(now: number): void {
    if (!this.measuring) return;
    this.measuring = false;
    this.cost += (Math.min(MOST_MS, now - this.drewAt) - this.cost) * 0.2;
  }

  /** May the map be drawn in this frame? Asking is drawing. */
  mayDraw(now: number): boolean {
    if (this.cost > SLOW_MS && now - this.drewAt < 2 * this.cost) return false;
    this.drewAt = now;
    this.measuring = true;
    return true;
  }
}
