/**
 * A question to the server that is asked again and again: one at a time, with a rest behind each answer, as an answer may be large.
 *
 *     asked ──▶ answered, or failed (`fault`) ──▶ rest: some times as long as it took ──▶ may be asked again
 */

export class Inquiry {
  private isAsking = false;
  private restsUntil = Number.NEGATIVE_INFINITY;
  /** Why it could not be answered last; null: nothing is wrong. */
  fault: string | null = null;

  /** It rests for `times` as long as an answer took, and at least for `least` ms. */
  constructor(
    private readonly least: number,
    private readonly times: number,
  ) {}

  get isReady(): boolean {
    return !this.isAsking && performance.now() >= this.restsUntil;
  }

  /** Ask, once it is ready. Resolved with the rest's ms, whether it was answered or not. */
  async ask(answer: () => Promise<void>): Promise<number> {
    this.isAsking = true;
    const began = performance.now();
    try {
      await answer();
      this.fault = null;
    } catch (error) {
      this.fault = (error as Error).message;
    }
    this.isAsking = false;
    const end = performance.now();
    const rest = Math.max(this.least, this.times * (end - began));
    this.restsUntil = end + rest;
    return rest;
  }
}
