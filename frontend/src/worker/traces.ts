/** What the steps that this page folds leave behind, and a state does not tell. */

import type { AnyRecord, Fold } from '../ledger/fold';
import { Careers } from './careers';
import { noteCopies } from './changes';
import { Freed } from './freed';

export class Traces {
  /** Blocks that a copy made, with the generation that it began: it wears a mark in the tables. */
  readonly copied = new Map<number, number>();
  readonly freed = new Freed();

  readonly careers: Careers;

  constructor(...careers: ConstructorParameters<typeof Careers>) {
    this.careers = new Careers(...careers);
  }

  /** A fold applied a record. */
  note(fold: Fold, record: AnyRecord): void {
    this.careers.note(record);
    if (record.type !== 'step') return;
    noteCopies(this.copied, fold, record);
    this.freed.note(record);
  }
}
