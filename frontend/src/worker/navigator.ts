/**
 * Moves one fold to a place of the session: forwards, backwards by undoing, from a kept state, or from the server. A place
 * within a step is reached by way of its end, where the digest is compared, and by undoing from there.
 *
 * Work is done in slices, and the goal may change at any time: the latest one wins. A seek that is on its way is let
 * finish when what it brings is of use, since a dragged playhead asks for its neighbours next.
 */

import type { Base } from '../ledger/difference';
import { type AnyRecord, type Fold, isRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import type { Keyframe, Step } from '../ledger/generated/types';
import { peekFrame } from '../ledger/peek';
import { Beside } from './beside';
import type { Changes } from './changes';
import { Foresight } from './foresight';
import type { History } from './history';
import { LookAhead } from './lookAhead';
import type { Place } from './place';
import type { Notice } from './protocol';
import type { Series } from './series';
import { type Requests, ServerError } from './source';
import { Turns } from './turns';

/** To put a state back costs about as much as this many operations a block. */
const RESTORE_COST = 0.1;
/** Ask for more while this many records are left in front of a reader that moves forwards. */
const AHEAD_RECORDS = 300;
/** ms after a seek for which nothing more is asked for: the picture has the machine for itself. */
const AHEAD_PAUSE = 250;
/** A seek that has more frames than this before it is given up when the goal moves. */
const MOST_ON_THE_WAY = 1500;

/** ms for which what a seek brought may be folded unseen. */
const UNSEEN_MS = 100;

interface Arriving {
  readonly step: number;
  readonly frames: readonly Uint8Array[];
  next: number;
  readonly since: number;
}

export interface NavigatorHandlers {
  /** The fold applied a record. */
  applied(fold: Fold, record: AnyRecord): void;
  /** The fold came to the end of its record again, and what it found there may be a fault. */
  compared(fold: Fold): void;
  /** Bytes that could not be read, or an operation that is not known. */
  fault(record: number, message: string): void;
  notice(told: Notice): void;
  /** The last record that the session has, as far as is known. */
  lastRecord(): number;
  /** There may be more to do. */
  wake(): void;
}

export class Navigator {
  goal: Place | null = null;
  readonly beside: Beside;
  readonly lookAhead: LookAhead;
  readonly foresight: Foresight;
  /** The record of the step that the fold is at, decoded. */
  current: Step | null = null;
  private seeking: { step: number; since: number; abort: AbortController } | null = null;
  /** What a seek brought, on its way into the fold. */
  private arriving: Arriving | null = null;
  private pause: ReturnType<typeof setTimeout> | null = null;
  private readonly turns: Turns;
  /** The goal was moved before the view was there. */
  private isDragged = false;

  constructor(
    readonly fold: Fold,
    private readonly history: History,
    private readonly series: Series,
    private readonly requests: Requests,
    private readonly changes: Changes,
    private readonly handlers: NavigatorHandlers,
  ) {
    this.beside = new Beside(fold, history, requests, handlers.lastRecord, handlers.wake);
    this.turns = new Turns(handlers.wake);
    this.foresight = new Foresight(requests, fold, history, series, () => this.moving);
    this.lookAhead = new LookAhead(requests, history.bases, () => this.moving);
  }

  get moving(): boolean {
    return this.goal !== null;
  }

  get waiting(): boolean {
    return this.seeking !== null || this.arriving !== null;
  }

  /** Where it is on its way to, and whether that is waited for: all that a view tells of it. */
  get heading(): string {
    const { goal, waiting } = this;
    return goal === null ? `${waiting}` : `${goal.step}, ${goal.operation}, ${waiting}`;
  }

  /** Is what a seek brought on its way into the fold, and not for long yet? */
  isBringing(now: number): boolean {
    return this.arriving !== null && now - this.arriving.since < UNSEEN_MS;
  }

  go(place: Place): void {
    this.isDragged = this.moving;
    this.goal = place;
    const { step } = place;
    const { seeking } = this;
    const isOfUse =
      seeking !== null && Math.abs(seeking.step - step) < 2000 && performance.now() - seeking.since < 2000;
    if (!isOfUse) this.dropSeek();
    const { arriving } = this;
    if (
      arriving !== null &&
      arriving.step !== step &&
      arriving.frames.length - arriving.next > MOST_ON_THE_WAY
    ) {
      this.arriving = null;
    }
    this.handlers.wake();
  }

  /** Stay where the fold is. */
  stop(): void {
    this.foresight.forget();
    if (this.pause !== null) clearTimeout(this.pause);
    this.pause = null;
    this.goal = null;
    this.arriving = null;
    this.dropSeek();
  }

  /** The state is no longer one of the session. */
  forget(): void {
    this.stop();
    this.fold.loaded = false;
    this.fold.verified = false;
    this.current = null;
  }

  private dropSeek(): void {
    this.seeking?.abort.abort();
    this.seeking = null;
  }

  /** Move for a while; true when there is more to do at once. */
  work(deadline: number): boolean {
    const { goal, fold } = this;
    if (goal === null) return false;
    this.lookAhead.rest();
    if (this.arriving !== null) return !this.bring(deadline) || this.goal !== null;
    if (fold.rest > 0 && this.fromWithin(goal)) return false;
    if (!this.reachable(goal)) {
      if (this.seeking === null && this.turns.take(this.isDragged)) void this.seek(goal.step);
      return false;
    }
    while (performance.now() < deadline) {
      if (this.arrived(goal.step)) {
        this.arrive(goal, false);
        return false;
      }
      const ok = fold.step < goal.step || this.textFollows(goal.step) ? this.forward() : this.backward();
      if (!ok) {
        this.goal = null;
        return false;
      }
    }
    return true;
  }

  /**
   * Fold what a seek brought, frame by frame, from its keyframe: it may be more than the history keeps. True when done.
   * Should the goal have moved meanwhile, what came is folded all the same: the picture follows a drag.
   */
  private bring(deadline: number): boolean {
    const { arriving, fold } = this;
    if (arriving === null) return true;
    const { step, frames } = arriving;
    while (performance.now() < deadline) {
      const frame = frames[arriving.next];
      const isThere = fold.step >= step && (frame === undefined || peekFrame(frame).type !== 'text');
      if (frame === undefined || isThere) {
        this.arriving = null;
        this.turns.over();
        if (this.goal?.step === step && fold.step === step) this.arrive(this.goal, true);
        else this.look();
        return true;
      }
      arriving.next++;
      if (!this.apply(frame, fold.record + 1)) {
        this.arriving = null;
        this.goal = null;
        return true;
      }
    }
    return false;
  }

  // -- ways ---------------------------------------------------------------------------------------------------------

  /** Can the fold go to the step with what is here? Puts a kept state back where that is the shorter way. */
  private reachable({ step: goal, operation }: Place): boolean {
    const { fold, history, series } = this;
    const record = series.get('record', goal);
    if (Number.isNaN(record)) return fold.loaded && fold.step === goal;
    // The record itself is needed to stand within it.
    if (operation !== null && history.get(record) === undefined) return false;
    const op = series.get('op', goal);
    // With the record after it, which may be its text.
    const end = Math.min(record + 1, this.handlers.lastRecord());
    const direct =
      fold.loaded &&
      (fold.step <= goal
        ? history.holds(fold.record, end)
        : record >= fold.base &&
          history.holds(record - 1, fold.record) &&
          fold.requests.memory.folded.holds(record, fold.record));
    const cost = direct ? Math.abs(op - fold.op) : Number.POSITIVE_INFINITY;
    const snapshot = history.snapshotBefore(record);
    if (snapshot === undefined || !history.holds(snapshot.record, end)) return direct;
    if (op - snapshot.op + fold.numBlocks * RESTORE_COST < cost) {
      fold.restore(snapshot);
      this.changes.all();
    }
    return true;
  }

  private typeAt(record: number): string | null {
    const frame = this.history.get(record);
    return frame === undefined ? null : peekFrame(frame).type;
  }

  private textFollows(goal: number): boolean {
    return this.fold.step === goal && this.typeAt(this.fold.record + 1) === 'text';
  }

  /** At the step, behind its text record, and not behind what came between it and the next step. */
  private arrived(goal: number): boolean {
    const { fold } = this;
    if (!fold.loaded || fold.step !== goal || this.textFollows(goal)) return false;
    const type = this.typeAt(fold.record);
    return (
      type === null || type === 'step' || type === 'text' || !this.history.holds(fold.record - 2, fold.record)
    );
  }

  private forward(): boolean {
    const record = this.fold.record + 1;
    const frame = this.history.get(record);
    return frame !== undefined && this.apply(frame, record);
  }

  private apply(frame: Uint8Array, record: number): boolean {
    const { fold } = this;
    try {
      const opened = openFrame(frame);
      if (!isRecord(opened)) throw new Error(`a ${opened.type} among the records`);
      fold.apply(opened);
      if (opened.type === 'step') this.changes.add(fold.blocks);
      else if (opened.type === 'keyframe' || opened.type === 'gap') this.changes.all();
      this.handlers.applied(fold, opened);
      return true;
    } catch (error) {
      this.handlers.fault(record, (error as Error).message);
      return false;
    }
  }

  private backward(): boolean {
    const { fold } = this;
    const frame = this.history.get(fold.record);
    if (frame === undefined) return false;
    try {
      const opened = openFrame(frame);
      if (!isRecord(opened)) throw new Error(`a ${opened.type} among the records`);
      const before = this.series.get('time', fold.step - 1);
      fold.undo(opened, Number.isNaN(before) ? 0 : before);
      if (opened.type === 'step') this.changes.add(fold.blocks);
      return true;
    } catch (error) {
      this.handlers.fault(fold.record, (error as Error).message);
      return false;
    }
  }

  /** `isBrought`: by a seek, with some of what comes next. */
  private arrive(goal: Place, isBrought: boolean): void {
    this.goal = null;
    this.look();
    this.changes.jump();
    const { current, fold } = this;
    if (current !== null) fold.verified = fold.lanes.differing(current.digest).length === 0;
    if (goal.operation !== null) this.standBehind(goal.operation);
    if (this.pause !== null) clearTimeout(this.pause);
    const load = (): void => {
      this.pause = null;
      if (this.goal === null) void this.beside.ahead(this.fold.record + AHEAD_RECORDS);
    };
    this.pause = isBrought ? setTimeout(load, AHEAD_PAUSE) : null;
    if (!isBrought) load();
  }

  /** From the end of a step to behind one of its operations. Behind the last one is the end. */
  private standBehind(operation: number): void {
    const { current, fold } = this;
    if (current === null || operation + 1 >= fold.op) return;
    // Of what follows the step's record only the number is taken back.
    while (fold.record > current.record && this.backward());
    this.stand(current, Math.max(current.op, operation + 1));
  }

  private stand(step: Step, op: number): void {
    const { fold } = this;
    fold.stand(step, op);
    this.changes.add(fold.blocks);
    this.changes.jump();
    this.handlers.compared(fold);
  }

  /** Somewhere from within a step: true when that is done; else the fold is where the way leads on by whole records. */
  private fromWithin(goal: Place): boolean {
    const { fold, current } = this;
    if (current === null || goal.step < fold.step) return false;
    const end = fold.op + fold.rest;
    const isWithin = goal.step === fold.step && goal.operation !== null && goal.operation + 1 < end;
    this.stand(current, isWithin ? Math.max(current.op, goal.operation + 1) : end);
    if (isWithin) this.goal = null;
    return isWithin;
  }

  /** Decode the record of the present step. */
  look(): void {
    const { fold } = this;
    this.current = null;
    for (let record = fold.record; record >= fold.record - 1; record--) {
      const frame = this.history.get(record);
      if (frame === undefined) return;
      if (peekFrame(frame).type !== 'step') continue;
      const step = openFrame(frame) as Step;
      if (step.step === fold.step) this.current = step;
      return;
    }
  }

  // -- the server ---------------------------------------------------------------------------------------------------

  private async seek(step: number): Promise<void> {
    const foreseen = this.foresight.take(step);
    const seeking = { step, since: performance.now(), abort: foreseen?.abort ?? new AbortController() };
    this.seeking = seeking;
    // Held until the answer came: what is kept may be another by then.
    const base = foreseen?.base ?? this.history.bases.before(this.series.get('record', step));
    try {
      const asked = foreseen?.answer ?? this.requests.seek(step, base?.record ?? null, seeking.abort.signal);
      const frames = await asked;
      if (this.seeking !== seeking) return;
      this.seeking = null;
      this.take(frames, step, base);
    } catch (error) {
      if (this.seeking !== seeking) return;
      this.seeking = null;
      if (this.goal?.step === step) this.goal = null;
      if (error instanceof ServerError) this.handlers.notice({ kind: 'notLoaded', step, why: error.message });
      else this.handlers.fault(this.fold.record + 1, (error as Error).message);
    }
    this.handlers.wake();
  }

  private take(frames: Uint8Array[], step: number, base: Base | null): void {
    const [first, ...rest] = frames;
    const keyframe = first === undefined ? null : (openFrame(first) as Keyframe);
    if (first === undefined || keyframe?.type !== 'keyframe')
      throw new Error('a seek does not begin with a keyframe');
    this.learn(rest);
    if (!this.series.has(step)) throw new ServerError('the server sent other steps', 0);
    // Keep what lies around the step, should it be too much to keep all.
    this.history.focus = this.series.get('record', step);
    const isWhole = keyframe.since == null;
    if (isWhole && keyframe.audited === true) this.history.add(keyframe.record, first.slice());
    this.history.addAll(rest);
    if (isWhole) this.history.bases.add(keyframe);
    if (this.goal === null || (this.goal.step !== step && this.reachable(this.goal))) return;
    this.fold.load(keyframe, base);
    this.changes.all();
    // Before it is told of: the keyframe is on the way, too.
    this.arriving = { step, frames: rest, next: 0, since: performance.now() };
    this.handlers.applied(this.fold, keyframe);
  }

  /** Where the table of steps does not know their records (it came late, or not at all), the frames tell. */
  private learn(frames: readonly Uint8Array[]): void {
    for (const frame of frames) {
      const { type, step } = peekFrame(frame);
      if (type === 'step' && step !== null && !this.series.has(step))
        this.series.place(openFrame(frame) as Step);
    }
  }
}
