/**
 * The fold: a mirror of the engine's state, record by record, checked at every operation, and undone as exactly.
 * The twin of `kvarium_ledger.fold`.
 *
 *     records ──▶ apply ──▶ state, lanes ── equal to the record's digest? ──▶ verified, or a violation
 *                 undo  ◀── the same record
 *                 stand ◀─▶ behind any operation of the last record: the state that the engine had then
 *
 * A fold begins with a keyframe. It never throws for what a record says: it reports violations, keeps the first of
 * them, and goes on, so that a picture can still be drawn, in red. Only an operation that this version does not know
 * stops it.
 */

import { Blocks } from './blocks';
import { decodeOperations, highestBlock, type OperationColumns, Room } from './columns';
import { Contents } from './contents';
import { type Base, baseOf, changedIn, refuseDifference } from './difference';
import { Lanes } from './digest';
import { FrameError, UnknownOperationError } from './frame';
import type { Digest, Frame, Gap, Keyframe, Step } from './generated/types';
import { brokenInTouched, brokenInvariants } from './invariants';
import { applyOperations, type Mirror, undoOperations } from './operations';
import { RequestMemory, Requests } from './requests';
import { type FoldPlace, type FoldSnapshot, placeOf } from './snapshot';
import { Pins, Tables } from './tables';
import type { Violation, ViolationKind } from './violation';

/** Any record, as opposed to a message. */
export type AnyRecord = Extract<Frame, { record: number }>;

/** Blocks by what they are: active (count 1), shared (count > 1), cached (count 0, with content), free. */
export interface Usage {
  readonly active: number;
  readonly shared: number;
  readonly cached: number;
  readonly free: number;
}

export function isRecord(frame: Frame): frame is AnyRecord {
  return 'record' in frame && frame.type !== 'ack';
}

export class Fold implements Mirror {
  readonly blocks: Blocks;
  readonly tables = new Tables();
  readonly pins = new Pins();
  readonly requests: Requests;
  readonly lanes = new Lanes();
  /**
   * The record of the keyframe that it began with. It is not to be undone beyond it: a keyframe lists neither the requests
   * that have ended nor the sequences that were dropped.
   */
  base = -1;
  /** The last record that it holds, the last step, the index of the next operation, ns since the session's start. */
  record = -1;
  step = -1;
  op = 0;
  time = 0;
  /** How many operations of the last record are taken back: 0 at its end. */
  rest = 0;
  /** Does it know a state at all (a keyframe was loaded, no gap since)? */
  loaded = false;
  /** Did its lanes equal the digest of the last step or keyframe? */
  verified = false;
  /** The first fault, which stays. */
  violation: Violation | null = null;
  private found: Violation[] = [];
  private readonly room = new Room();

  constructor(
    readonly numBlocks: number,
    readonly blockSize: number,
    readonly contents = new Contents(),
    memory = new RequestMemory(),
  ) {
    this.requests = new Requests(memory);
    this.blocks = new Blocks(numBlocks);
  }

  usage(): Usage {
    const [free, cached, active, shared] = this.blocks.tally;
    return { active: active!, shared: shared!, cached: cached!, free: free! };
  }

  // -- faults -------------------------------------------------------------------------------------------------------

  /** Report a fault at the present record. */
  fail(kind: ViolationKind, message: string, op: number | null = null): void {
    const violation: Violation = { kind, record: this.record, op, message };
    // A record that is wrong throughout says so a million times; some of them are enough.
    if (this.found.length < 100) this.found.push(violation);
    this.violation ??= violation;
  }

  private compare(kind: ViolationKind, told: Digest): boolean {
    const lanes = this.lanes.differing(told);
    if (lanes.length > 0) this.fail(kind, `this mirror differs in ${lanes.join(', ')}`);
    return lanes.length === 0;
  }

  private sumLanes(): void {
    const { sums } = this.lanes;
    sums[0] = this.blocks.sumA;
    sums[1] = this.blocks.sumB;
    sums[2] = this.tables.sumA;
    sums[3] = this.tables.sumB;
  }

  // -- forwards -----------------------------------------------------------------------------------------------------

  /**
   * Follow one record and say what is wrong with it.
   *
   * Throws an {@link UnknownOperationError} for an operation that needs a newer version, and a {@link FrameError} for a
   * record whose fields are not of the kind that they must be.
   */
  apply(record: AnyRecord): readonly Violation[] {
    if (this.rest > 0)
      throw new Error(`record ${this.record} is not folded to its end: ${this.rest} operations are left`);
    this.found = [];
    try {
      return this.follow(record);
    } catch (error) {
      this.verified = false;
      if (error instanceof FrameError) throw error;
      // A page opens frames without a look at each field: what is not what it should be shows where it is used.
      throw new FrameError(
        `record ${record.record} is not as the format has it: ${(error as Error).message}`,
      );
    }
  }

  private follow(record: AnyRecord): readonly Violation[] {
    if (record.type === 'keyframe') refuseDifference(record);
    if (record.type === 'gap') return this.applyGap(record);
    if (this.loaded && record.record !== this.record + 1) {
      const last = this.record;
      this.record = record.record;
      this.fail('order', `record ${record.record} follows record ${last}`);
    }
    this.record = record.record;
    if (this.loaded) this.requests.memory.folded.add(record.record);
    if (!this.loaded && record.type !== 'keyframe') {
      this.fail('order', `a fold begins with a keyframe, not with ${record.type}`);
    } else if (record.type === 'step') this.applyStep(record);
    else if (record.type === 'keyframe') {
      if (this.loaded) this.checkKeyframe(record);
      else this.load(record);
    }
    return this.found;
  }

  private applyGap(gap: Gap): readonly Violation[] {
    this.record = gap.record;
    this.loaded = false;
    this.verified = false;
    return this.found;
  }

  private checkKeyframe(keyframe: Keyframe): void {
    if (keyframe.step !== this.step || keyframe.op !== this.op) {
      this.fail(
        'order',
        `the keyframe stands after step ${keyframe.step}, operation ${keyframe.op}; this mirror is at ` +
          `step ${this.step}, operation ${this.op}`,
      );
    }
    this.verified = this.compare(keyframe.audited ? 'audit' : 'digest', keyframe.digest);
    this.checkAll();
  }

  private decode(step: Step): OperationColumns | null {
    try {
      const columns = decodeOperations(step.operations, this.room);
      const highest = highestBlock(columns);
      if (highest < this.numBlocks) return columns;
      this.fail('operation', `it names block ${highest}, the pool has ${this.numBlocks}`);
    } catch (error) {
      if (error instanceof UnknownOperationError || !(error instanceof FrameError)) throw error;
      this.fail('operation', error.message);
    }
    return null;
  }

  private applyStep(step: Step): void {
    if (step.step !== this.step + 1 || step.op !== this.op) {
      this.fail(
        'order',
        `step ${step.step} at operation ${step.op} follows step ${this.step}, next operation ${this.op}`,
      );
    }
    this.step = step.step;
    this.op = step.op;
    this.time = step.sealed;
    this.blocks.begin();
    const columns = this.decode(step);
    if (columns === null) {
      this.verified = false;
      return;
    }
    this.contents.add(step.contents);
    for (const decision of step.decisions ?? []) {
      this.requests.decide(decision, step, this.lanes, (message) =>
        this.fail('decision', message, decision.op),
      );
    }
    applyOperations(this, columns, (index, message) => this.fail('operation', message, step.op + index));
    this.blocks.settle();
    this.sumLanes();
    this.op = step.op + columns.length;
    this.verified = this.compare('digest', step.digest);
    if (step.audit != null) {
      this.compare('audit', step.audit);
      this.checkAll();
    } else {
      for (const message of brokenInTouched(this)) this.fail('invariant', message);
    }
  }

  // -- backwards ----------------------------------------------------------------------------------------------------

  /**
   * Take back the last record, exactly; `time` is that of the record before it.
   *
   * Throws when it is not the last one, or one that can't be undone (a gap).
   */
  undo(record: AnyRecord, time = 0): void {
    if (record.record !== this.record) {
      throw new Error(`record ${record.record} is not the last one, which is ${this.record}`);
    }
    if (record.type === 'gap') throw new Error("a gap can't be undone: seek to a keyframe before it");
    this.found = [];
    this.blocks.begin();
    if (record.type === 'step') {
      // Decisions that hold before its first operation go with the step.
      this.takeBack(record, decodeOperations(record.operations, this.room), record.op, record.op - 1);
      this.rest = 0;
      this.step = record.step - 1;
      this.time = time;
    }
    this.record -= 1;
  }

  /** Take back the operations from the present one down to `op`, and the decisions that hold before one after `decided`. */
  private takeBack(step: Step, columns: OperationColumns, op: number, decided: number): void {
    const before = this.op;
    this.op = op;
    undoOperations(
      this,
      columns,
      (index, message) => this.fail('operation', message, step.op + index),
      before - step.op,
      op - step.op,
    );
    const decisions = step.decisions ?? [];
    for (let i = decisions.length - 1; i >= 0; i--) {
      const decision = decisions[i]!;
      if (decision.op <= decided) break;
      if (decision.op > before) continue;
      this.requests.undecide(decision, this.lanes, (message) => this.fail('decision', message, decision.op));
    }
    this.blocks.settle();
    this.sumLanes();
  }

  // -- within a record ----------------------------------------------------------------------------------------------

  /**
   * Stand within the last record, `step`, where `op` is the next operation: those before it are applied, and the decisions
   * that hold before it. At the record's end its digest is compared; elsewhere `verified` says what was found there.
   * Throws when it is not the last record, or has no such operation.
   */
  stand(step: Step, op: number): readonly Violation[] {
    if (step.record !== this.record) {
      throw new Error(`record ${step.record} is not the last one, which is ${this.record}`);
    }
    this.found = [];
    const columns = this.decode(step);
    if (columns === null) return this.found;
    const end = step.op + columns.length;
    if (!(op >= step.op && op <= end)) {
      throw new Error(
        `step ${step.step} has the operations ${step.op} to ${end - 1}: it can't stand before ${op}`,
      );
    }
    this.blocks.begin();
    if (op < this.op) this.takeBack(step, columns, op, op);
    else if (op > this.op) this.goOn(step, columns, op);
    this.rest = end - op;
    if (this.rest === 0) this.verified = this.compare('digest', step.digest);
    return this.found;
  }

  /** Apply the operations from the present one on up to `op`, and the decisions that hold before it. */
  private goOn(step: Step, columns: OperationColumns, op: number): void {
    for (const decision of step.decisions ?? []) {
      if (decision.op > this.op && decision.op <= op) {
        this.requests.decide(decision, step, this.lanes, (message) =>
          this.fail('decision', message, decision.op),
        );
      }
    }
    applyOperations(
      this,
      columns,
      (index, message) => this.fail('operation', message, step.op + index),
      this.op - step.op,
      op - step.op,
    );
    this.blocks.settle();
    this.sumLanes();
    this.op = op;
  }

  // -- keyframes ----------------------------------------------------------------------------------------------------

  /** Take a keyframe's state in place of all that was known, and check its digest. `kept`: what it may tell changes since. */
  load(keyframe: Keyframe, kept: Base | null = null): readonly Violation[] {
    const base = baseOf(keyframe, kept);
    this.found = [];
    const before = this.record;
    this.base = keyframe.record;
    this.record = keyframe.record;
    this.step = keyframe.step;
    this.op = keyframe.op;
    this.time = keyframe.time;
    this.rest = 0;
    this.lanes.clear();
    if (base === null) this.blocks.load(keyframe.blocks ?? {});
    else this.blocks.loadOver(base.columns, changedIn(keyframe, this.numBlocks), keyframe.blocks ?? {});
    const fail = (message: string): void => this.fail('operation', message);
    this.tables.load(keyframe.tables, this.blocks.entries, fail);
    this.pins.load(keyframe.pins, this.numBlocks, fail);
    this.requests.load(keyframe, before, this.lanes);
    this.contents.add(keyframe.contents);
    this.contents.next = Math.max(this.contents.next, keyframe.next_content ?? 0);
    this.sumLanes();
    this.loaded = true;
    this.verified = this.compare('digest', keyframe.digest);
    // A look over all blocks is for audits; a keyframe that a seek begins with is not worth it in a large pool.
    if (keyframe.audited === true || this.numBlocks <= 65_536) this.checkAll(this.numBlocks <= 65_536);
    return this.found;
  }

  /** Check every invariant over the whole state, as at an audit. */
  checkAll(tickets = true): void {
    for (const message of brokenInvariants(this, this.requests, tickets)) this.fail('invariant', message);
  }

  // -- copies -------------------------------------------------------------------------------------------------------

  /** Become a copy of another fold of the same session. */
  copyFrom(other: Fold): void {
    this.blocks.copyFrom(other.blocks);
    this.tables.copyFrom(other.tables);
    this.pins.copyFrom(other.pins);
    this.requests.copyFrom(other.requests);
    this.lanes.copyFrom(other.lanes);
    this.place(other);
    this.violation = other.violation;
  }

  private place(other: FoldPlace): void {
    Object.assign(this, placeOf(other));
  }

  /** Everything, to come back to it by {@link restore}. */
  snapshot(): FoldSnapshot {
    const tables = new Tables();
    tables.copyFrom(this.tables);
    const pins = new Pins();
    pins.copyFrom(this.pins);
    const requests = new Requests(this.requests.memory);
    requests.copyFrom(this.requests);
    const lanes = new Lanes();
    lanes.copyFrom(this.lanes);
    const entries = [...tables.map.values()].reduce((sum, table) => sum + table.blocks.length, 0);
    const bytes = this.blocks.snapshotBytes + 4 * entries + 200 * tables.map.size + 400 * requests.rows.size;
    return {
      ...placeOf(this),
      blocks: this.blocks.snapshot(),
      tables,
      pins,
      requests,
      lanes,
      bytes,
    };
  }

  restore(snapshot: FoldSnapshot): void {
    this.blocks.restore(snapshot.blocks);
    this.tables.copyFrom(snapshot.tables);
    this.pins.copyFrom(snapshot.pins);
    this.requests.copyFrom(snapshot.requests);
    this.lanes.copyFrom(snapshot.lanes);
    this.place(snapshot);
  }
}
