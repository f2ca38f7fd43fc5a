/** A view that is moved on and on seeks so many times a second at most: what each brings is to be drawn, too, by the same machine. */

/** ms from the beginning of one seek to that of the next. */
export const BETWEEN_SEEKS = 100;

export class Turns {
  private last = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | null = null;

  /** `wake` is called when it is the next one's turn. */
  constructor(private readonly wake: () => void) {}

  /** May a seek begin? One that somebody waits for who rests where it leads may at any time. */
  take(isDragged: boolean): boolean {
    const now = performance.now();
    const left = this.last + BETWEEN_SEEKS - now;
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
}
