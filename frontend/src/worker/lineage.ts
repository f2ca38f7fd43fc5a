/**
 * Asks what the contents follow that blocks hold, all at once: a seek leaves it out, as only the prefix tree needs it.
 */

import type { Contents } from '../ledger/contents';
import type { AnyRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import type { Requests } from './source';

/** An answer may be large: the next one is asked for after so many times as long as the last one took, and at least some ms. */
const PAUSES = 4;
const LEAST = 100;

export class Lineage {
  private isAsking = false;
  /** The step that was asked for last, and from when on the next one may be. */
  private asked: { step: number; until: number } | null = null;
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
    const now = performance.now();
    const waits = asked !== null && asked.until > now;
    if (this.isAsking || waits || (asked?.step === step && this.fault === null)) return;
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
        const end = performance.now();
        const pause = Math.max(LEAST, PAUSES * (end - now));
        this.asked = { step, until: end + pause };
        this.changed();
        // By then somebody may look at another step.
        setTimeout(this.changed, pause + 1);
      });
  }

  private take(record: AnyRecord): void {
    if (record.type === 'keyframe' || record.type === 'step') this.contents.add(record.contents);
  }
}
