/**
 * When each block had its last operation, read backwards from the records that are here: a state does not tell.
 *
 *     records   ├────────────────────────●   the fold
 *               └── at most so many steps ──┘   what was not met in them is older, or was never; where fewer are here: unknown
 */

import { decodeOperations } from '../ledger/columns';
import type { Fold } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import { Operation } from '../ledger/generated/constants';
import type { Step } from '../ledger/generated/types';
import { peekFrame } from '../ledger/peek';
import type { History } from './history';
import { BINS, EDGES, UNKNOWN_SHADE } from './shades';

/** Older than this is the last part of the scale. */
export const FAR = EDGES.recency.at(-1)!;

export class Recency {
  /** The step of the last operation; -1: none that is known. */
  private readonly last: Int32Array;
  /** The record up to which it is known, behind how many of its operations, and the first step that was looked at. */
  private record = -1;
  private op = -1;
  private step = -1;
  private first = 0;
  private isFromBeginning = false;

  constructor(
    numBlocks: number,
    private readonly history: Pick<History, 'get'>,
  ) {
    this.last = new Int32Array(numBlocks);
  }

  /** Are there too few records to tell? */
  get isShort(): boolean {
    return !this.isFromBeginning && this.step - this.first < FAR;
  }

  /** The shades of all blocks where a fold stands. */
  shade(fold: Fold, shades: Uint16Array): void {
    if (fold.record !== this.record || fold.op !== this.op || this.isShort) {
      if (!this.goOn(fold)) this.lookBack(fold);
    }
    const { last, step } = this;
    const bins = BINS.recency;
    const far = bins.length - 1;
    const missing = this.isShort ? UNKNOWN_SHADE : bins[far]!;
    for (let b = 0; b < shades.length; b++) {
      const at = last[b]!;
      shades[b] = at < 0 ? missing : bins[Math.min(far, step - at)]!;
    }
  }

  private place(fold: Fold): void {
    this.record = fold.record;
    this.op = fold.op;
    this.step = fold.step;
  }

  /** Follow the records since; false: they are not here, or it went back. */
  private goOn(fold: Fold): boolean {
    const { record } = this;
    if (record < 0 || fold.rest > 0 || fold.record < record || fold.step - this.step > FAR) return false;
    // Within a record all of it is read again: what it did twice counts once.
    const steps: Step[] = [];
    for (let at = record; at <= fold.record; at++) {
      const frame = this.history.get(at);
      if (frame === undefined) return false;
      const { type } = peekFrame(frame);
      if (type === 'gap') return false;
      if (type === 'step') steps.push(openFrame(frame) as Step);
    }
    const isShort = this.isShort;
    for (const step of steps) this.note(step, Number.POSITIVE_INFINITY, true);
    this.place(fold);
    // More may have been loaded before it.
    return !(isShort && this.isShort);
  }

  private lookBack(fold: Fold): void {
    this.last.fill(-1);
    this.place(fold);
    this.first = fold.step + 1;
    this.isFromBeginning = false;
    for (let record = fold.record; record >= 0 && this.first > fold.step - FAR; record--) {
      const frame = this.history.get(record);
      if (frame === undefined) return;
      const { type } = peekFrame(frame);
      if (type === 'gap') return;
      if (type !== 'step') continue;
      const step = openFrame(frame) as Step;
      this.note(step, record === fold.record ? fold.op - step.op : Number.POSITIVE_INFINITY, false);
      this.first = step.step;
    }
    this.isFromBeginning = this.first === 0;
  }

  /** `most`: so many of its operations are done. `isLater`: than all that were noted before. */
  private note(step: Step, most: number, isLater: boolean): void {
    const { last } = this;
    const { kind, block, source } = decodeOperations(step.operations);
    const done = Math.min(kind.length, most);
    const mark = (b: number): void => {
      if (b < last.length && (isLater || last[b]! < 0)) last[b] = step.step;
    };
    for (let i = 0; i < done; i++) mark(block[i]!);
    // A copy reads another block.
    let copies = source.length;
    if (done < kind.length) {
      copies = 0;
      for (let i = 0; i < done; i++) if (kind[i] === Operation.copy) copies++;
    }
    for (let i = 0; i < copies; i++) mark(source[i]!);
  }
}
