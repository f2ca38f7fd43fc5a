/**
 * Asks what contents follow, where no record here tells it: a seek leaves it out, as only the prefix tree needs it; and a
 * keyframe tells it of what blocks hold then, not of what was interned before and is held again later.
 *
 *     many are missing   a keyframe with all that blocks hold, and what is above it
 *     some are missing   these, by their ids
 */

import type { Contents } from '../ledger/contents';
import { type AnyRecord, isRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import { NONE } from '../ledger/generated/constants';
import { Inquiry } from './inquiry';
import type { Requests } from './source';
import { MANY_MISSING } from './tree/depths';

/** An answer may be large: the next one is asked for after so many times as long as the last one took, and at least some ms. */
const PAUSES = 4;
const LEAST = 100;

function column(values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

export class Lineage {
  private readonly inquiry = new Inquiry(LEAST, PAUSES);
  /** What was asked for last. */
  private asked: string | null = null;

  constructor(
    private readonly contents: Contents,
    private readonly requests: Pick<Requests, 'lineage' | 'contents'>,
    /** More is known, or may be asked for again. */
    private readonly changed: () => void,
  ) {}

  /** Why it could not be had; null: nothing is wrong. */
  get fault(): string | null {
    return this.inquiry.fault;
  }

  /** Ask what `missing` contents follow, of which some are held at a step; for the same once, unless that failed. */
  want(step: number, missing: ReadonlySet<number>): void {
    if (missing.size === 0) return;
    const areMany = missing.size > MANY_MISSING;
    const what = areMany ? `step ${step}` : [...missing].join();
    if (!this.inquiry.isReady || (this.asked === what && this.fault === null)) return;
    void this.inquiry
      .ask(() => (areMany ? this.fetchAll(step) : this.fetch([...missing])))
      .then((rest) => {
        this.asked = what;
        this.changed();
        // By then somebody may look at another step.
        setTimeout(this.changed, rest + 1);
      });
  }

  private async fetchAll(step: number): Promise<void> {
    for (const frame of await this.requests.lineage(step)) {
      const opened = openFrame(frame);
      if (isRecord(opened)) this.take(opened);
    }
  }

  private take(record: AnyRecord): void {
    if (record.type === 'keyframe' || record.type === 'step') this.contents.add(record.contents);
  }

  private async fetch(ids: readonly number[]): Promise<void> {
    const told = (await this.requests.contents(ids)).filter(({ parent }) => parent !== undefined);
    this.contents.add({
      content: column(told.map(({ content }) => content)),
      parent: column(told.map(({ parent }) => parent ?? NONE)),
    });
  }
}
