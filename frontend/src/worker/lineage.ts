/**
 * Asks what the contents follow that blocks hold, all at once: a seek leaves it out, as only the prefix tree needs it.
 */

import type { Contents } from '../ledger/contents';
import type { AnyRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import type { Requests } from './source';

/** ms between two tries. */
const PAUSE = 2000;

export class Lineage {
  private isAsking = false;
  private asked: { step: number; at: number } | null = null;
  /** Why it could not be had; null: nothing is wrong. */
  fault: string | null = null;

  constructor(
    private readonly contents: Contents,
    private readonly requests: Pick<Requests, 'lineage'>,
    /** More is known, or may be asked for again. */
    private readonly changed: () => void,
  ) {}

  /** Ask for all that blocks hold at a step; once for each, unless that failed. */
  want(step: number): void {
    const { asked } = this;
    const wait = asked === null ? 0 : asked.at + PAUSE - performance.now();
    if (this.isAsking || wait > 0 || (asked?.step === step && this.fault === null)) return;
    this.isAsking = true;
    this.requests
      .lineage(step)
      .then((frames) => {
        for (const frame of frames) this.take(openFrame(frame) as AnyRecord);
        this.fault = null;
      })
      .catch((error: Error) => {
        this.fault = error.message;
      })
      .finally(() => {
        this.isAsking = false;
        this.asked = { step, at: performance.now() };
        this.changed();
        setTimeout(this.changed, PAUSE);
      });
  }

  private take(record: AnyRecord): void {
    if (record.type === 'keyframe' || record.type === 'step') this.contents.add(record.contents);
  }
}
