/** What this page may say of the truth of what it shows: the digest light. */

import type { Fold } from '../ledger/fold';
import type { Doubt, Light } from './protocol';

export class Trust {
  /** The first fault, for good. */
  private fault: { record: number; message: string } | null = null;
  /** The folds that folded a step themselves, and found its digest. */
  private readonly folded = new WeakSet<Fold>();
  /** Why nothing is verified, while nothing is. */
  unverified: Doubt = { kind: 'nothing' };

  fail(record: number, message: string): void {
    this.fault ??= { record, message };
  }

  /** A fold applied a record. */
  look(fold: Fold): void {
    const { violation } = fold;
    if (violation !== null) {
      const where = violation.op === null ? '' : ` (operation ${violation.op})`;
      this.fail(violation.record, `${violation.kind}${where}: ${violation.message}`);
    }
    if (fold.verified && fold.step >= 0) this.folded.add(fold);
  }

  /** One fold became a copy of another. */
  copy(from: Fold, to: Fold): void {
    if (this.folded.has(from)) this.folded.add(to);
  }

  light(fold: Fold): Light {
    const { fault } = this;
    if (fault !== null) return { colour: 'red', record: fault.record, message: fault.message, doubt: null };
    if (fold.loaded && fold.verified && this.folded.has(fold)) {
      return { colour: 'green', record: fold.record, message: '', doubt: null };
    }
    const record = fold.loaded ? fold.record : null;
    return { colour: 'grey', record, message: '', doubt: this.unverified };
  }
}
