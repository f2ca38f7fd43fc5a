/** Keeps states of folds in the history, from time to time, so that the way back to any of them is short. */

import type { Fold } from '../ledger/fold';
import type { History } from './history';

/** Keep a state each so many operations, or twice the blocks, whichever is more. */
const OPERATIONS = 65_536;

export class Keeper {
  /** The operation at which each fold was kept last. */
  private readonly kept = new WeakMap<Fold, number>();

  constructor(private readonly history: History) {}

  /** A fold moved on: keep it, if it is time. */
  look(fold: Fold): void {
    const every = Math.max(OPERATIONS, 2 * fold.numBlocks);
    const last = this.kept.get(fold);
    if (last === undefined) this.kept.set(fold, fold.op);
    else if (fold.verified && Math.abs(fold.op - last) >= every && this.history.get(fold.record)) {
      // A copy of a large pool takes a while, which a reader who seeks would wait for: none is made to be thrown away.
      if (!this.history.hasRoomFor(fold.blocks.snapshotBytes)) return;
      this.kept.set(fold, fold.op);
      if (!this.history.hasSnapshot(fold.record)) this.history.addSnapshot(fold.snapshot());
    }
  }
}
