/**
 * Fetches bases before they are needed: after a long recording of a large pool was opened, so many of its states, evenly spread
 * over its steps, one at a time.
 *
 *     steps   0 ●──────●──────●──────●──────●──────●──────●────── last
 *
 * Nothing is fetched while the reader is on the way somewhere, nor right after: what they wait for has the line for itself.
 */

import { openFrame } from '../ledger/frame';
import type { Bases } from './bases';
import type { BasesKept } from './protocol';
import type { Requests } from './source';
import type { StepTable } from './steps';

/** As many as there is room for of a million blocks. */
const COUNT = 7;
/** ms for which the reader rests before something is fetched. */
const REST = 600;

export class LookAhead {
  /** Of what is still to be fetched. */
  private steps: number[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private fetching: AbortController | null = null;

  constructor(
    private readonly requests: Pick<Requests, 'seek'>,
    private readonly bases: Bases,
    /** Is the reader on the way somewhere? */
    private readonly isMoving: () => boolean,
  ) {}

  get told(): BasesKept {
    return { kept: this.bases.count, left: this.steps.length };
  }

  /**
   * Fetch those of a recording that has ended, once the reader rests. Of a small pool they are not worth it, nor of a short
   * recording, where hardly anything changes.
   */
  begin(
    { firstStep, lastStep, lastOp }: Pick<StepTable, 'firstStep' | 'lastStep' | 'lastOp'>,
    numBlocks: number,
  ): void {
    if (!this.bases.isKept || lastOp < 2 * numBlocks) return;
    const steps = lastStep - firstStep;
    this.steps = Array.from({ length: COUNT }, (_, i) => firstStep + Math.floor((i * steps) / COUNT));
    this.rest();
  }

  /** The reader is on the way somewhere: wait until that is over for a while. */
  rest(): void {
    this.stop();
    if (this.steps.length === 0) return;
    this.timer = setTimeout(() => {
      if (this.isMoving()) this.rest();
      else void this.next();
    }, REST);
  }

  close(): void {
    this.steps = [];
    this.stop();
  }

  private stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.fetching?.abort();
    this.fetching = null;
  }

  private async next(): Promise<void> {
    this.timer = null;
    const fetching = new AbortController();
    this.fetching = fetching;
    try {
      for (let step = this.steps[0]; step !== undefined; step = this.steps[0]) {
        const [first] = await this.requests.seek(step, null, fetching.signal, 0);
        if (this.fetching !== fetching) return;
        const keyframe = first === undefined ? null : openFrame(first);
        if (keyframe?.type !== 'keyframe') throw new Error('a seek does not begin with a keyframe');
        this.bases.add(keyframe);
        this.steps.shift();
      }
    } catch {
      // Not needed: a seek will say what is wrong.
      if (this.fetching === fetching) this.steps = [];
    }
    if (this.fetching === fetching) this.fetching = null;
  }
}
