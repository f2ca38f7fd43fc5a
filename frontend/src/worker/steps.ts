/** The table of steps, asked for until it comes: the timeline and every seek need it. */

import type { Notice } from './protocol';
import type { Series } from './series';
import type { Requests } from './source';

/** Its columns that count a step's operations. */
const KINDS = ['allocate', 'evict', 'reuse', 'share', 'copy', 'fill', 'cache', 'release', 'freed'] as const;
/** ms between two tries. */
const PAUSE = 2000;

export class StepTable {
  /** Why it is not here; null: it is, or is on its way for the first time. */
  fault: Notice | null = null;
  /** The first step that it tells of. */
  firstStep = 0;
  /** The last step that it tells of; -1: none. */
  lastStep = -1;
  /** The last operation that it tells of; -1: none. */
  lastOp = -1;
  /** How often each operation occurs in the steps that it tells of. */
  counts: Partial<Record<string, number>> = {};
  private closed = false;

  constructor(
    private readonly series: Series,
    private readonly requests: Pick<Requests, 'steps'>,
    /** It came, or could not be had; `before` is the fault that was told until now. */
    private readonly changed: (before: Notice | null) => void,
  ) {}

  async load(): Promise<void> {
    const before = this.fault;
    try {
      const steps = await this.requests.steps();
      this.series.load(steps);
      this.firstStep = steps.step[0] ?? 0;
      this.lastStep = steps.step.at(-1) ?? -1;
      this.lastOp = KINDS.reduce((sum, kind) => sum + (steps[kind]?.at(-1) ?? 0), steps.op?.at(-1) ?? 0) - 1;
      this.counts = Object.fromEntries(
        KINDS.map((kind) => [
          kind === 'freed' ? 'free' : kind,
          (steps[kind] ?? []).reduce((a, b) => a + b, 0),
        ]),
      );
      this.fault = null;
    } catch (error) {
      this.fault = { kind: 'noTable', why: (error as Error).message };
      setTimeout(() => {
        if (!this.closed && this.fault !== null) void this.load();
      }, PAUSE);
    }
    this.changed(before);
  }

  close(): void {
    this.closed = true;
  }
}
