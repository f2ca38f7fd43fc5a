/**
 * One session as this page follows it.
 *
 *     websocket ──▶ head ──▶ its fold ──▶ history, series          (live: always at the live end)
 *     requests  ──▶ navigator ──▶ view fold                        (elsewhere: where the reader is)
 *
 * While following, the head's fold is what is shown. Whoever goes back looks at a fold of their own, and the head goes on
 * unseen: recording and engine never wait for a reader.
 */

import { Contents } from '../ledger/contents';
import { type AnyRecord, Fold } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import { Pin, VERSION } from '../ledger/generated/constants';
import type { Hello, Step } from '../ledger/generated/types';
import { RequestMemory } from '../ledger/requests';
import { Changes, noteCopies } from './changes';
import { Head } from './head';
import { History } from './history';
import { Keeper } from './keeper';
import { Navigator } from './navigator';
import type { Light, Mode, Position } from './protocol';
import { Series } from './series';
import { Requests } from './source';
import { StepTable } from './steps';
import { Texts } from './texts';
import { Trust } from './trust';

export interface OpenOptions {
  readonly session: string;
  readonly api: string;
  readonly live: boolean;
  /** Where to look; null: the live end, or the last step. */
  readonly step: number | null;
  readonly lastStep: number;
  readonly lastRecord: number;
}

export class Session {
  readonly history = new History();
  readonly series = new Series();
  readonly changes: Changes;
  readonly head: Head;
  readonly navigator: Navigator;
  mode: Mode;
  notice: string | null = null;
  /** Blocks that a copy made, with the generation that it began: it wears a mark in the tables. */
  readonly copied = new Map<number, number>();
  readonly memory = new RequestMemory();
  readonly texts: Texts;
  /** Something that the page does not know yet, beside the map. */
  dirty = true;
  private readonly trust = new Trust();
  private readonly keeper = new Keeper(this.history);
  private readonly table: StepTable;
  private loadingBeside = false;
  private playing: { rate: number; from: number; since: number } | null = null;

  constructor(
    options: OpenOptions,
    readonly hello: Hello,
    requests: Requests,
    private readonly wake: () => void,
  ) {
    const contents = new Contents();
    const newFold = (): Fold => new Fold(hello.num_blocks, hello.block_size, contents, this.memory);
    this.changes = new Changes(hello.num_blocks);
    this.navigator = new Navigator(newFold(), this.history, this.series, requests, this.changes, {
      applied: (fold, record) => this.applied(fold, record),
      fault: (record, message) => this.fail(record, message),
      lastRecord: () => this.head.lastRecord,
      notice: (message) => {
        this.notice = message;
        this.dirty = true;
      },
      wake,
    });
    this.texts = new Texts(hello.record_text !== 'none', hello.block_size, this.memory, requests, () =>
      this.changed(),
    );
    this.mode = options.live && options.step === null ? 'follow' : 'at';
    const { lastStep, lastRecord } = options;
    this.table = new StepTable(this.series, requests, (before) => this.tableChanged(before));
    this.head = new Head(
      newFold(),
      options.live,
      hello.utc_us / 1000,
      lastStep,
      lastRecord,
      this.history,
      this.series,
      this.trust,
      requests,
      {
        applied: (fold, record, loaded) => this.headApplied(fold, record, loaded),
        fault: (record, message) => this.fail(record, message),
        ended: () => this.headEnded(),
        cut: (step, record) => this.keepOnly(step, record),
        loadSteps: () => this.table.load(),
        changed: () => this.changed(),
        wake,
      },
    );
    void this.table.load().then(() => {
      if (this.mode !== 'at') return;
      // Who opens a recording reads it from its beginning: at its end the pool is empty.
      this.seek(options.step ?? 0);
      if (options.step !== null && options.step > this.lastStep && this.lastStep >= 0) {
        this.say(`There is no step ${options.step}: the last one is ${this.lastStep}.`);
      }
    });
  }

  static async open(options: OpenOptions, wake: () => void): Promise<Session> {
    const requests = new Requests(options.api, options.session);
    const hello = openFrame(await requests.hello()) as Hello;
    if (hello.type !== 'hello') throw new Error('the server did not say what this session is');
    if (hello.version > VERSION) {
      throw new Error(`this session has version ${hello.version} of the ledger, this page knows ${VERSION}`);
    }
    return new Session(options, hello, requests, wake);
  }

  close(): void {
    this.table.close();
    this.head.close();
    this.navigator.stop();
  }

  get fold(): Fold {
    return this.mode === 'follow' ? this.head.fold : this.navigator.fold;
  }

  /** A sequence's blocks are one run: blocks are not taken from the head of the free queue. */
  get isContiguous(): boolean {
    return this.hello.config?.memory_backend === 'contiguous';
  }

  get lastStep(): number {
    return this.head.lastStep;
  }

  /** Something changed that the page does not know yet. */
  private changed(): void {
    this.dirty = true;
    this.wake();
  }

  /** The record of the step that is shown. */
  get current(): Step | null {
    return this.mode === 'follow' ? this.head.step : this.navigator.current;
  }

  private tableChanged(before: string | null): void {
    this.head.lastStep = Math.max(this.lastStep, this.table.lastStep);
    if (this.table.fault !== null) this.notice = this.table.fault;
    else if (this.notice === before) this.notice = null;
    this.changed();
  }

  /** Something for the reader to know. */
  say(notice: string): void {
    this.notice = notice;
    this.changed();
  }

  dismiss(): void {
    this.notice = null;
    this.changed();
  }

  // -- the live end -------------------------------------------------------------------------------------------------

  /** What came at the live end. */
  private headApplied(fold: Fold, record: AnyRecord, loaded: boolean): void {
    this.applied(fold, record);
    this.dirty = true;
    if (this.mode !== 'follow') return;
    this.history.focus = record.record;
    if (loaded) this.changes.all();
    else if (record.type === 'step') this.changes.add(fold.blocks);
  }

  /** The session is no longer live: what was followed is now a recording. */
  private headEnded(): void {
    if (this.mode === 'follow' && this.head.fold.loaded) this.stay();
    else if (!this.navigator.fold.loaded) this.seek(Math.max(0, this.lastStep));
    this.changed();
  }

  /** Steps past the end of the recording were seen and not saved: they are no more. */
  private keepOnly(lastStep: number, lastRecord: number): void {
    const lost = this.lastStep - lastStep;
    if (lost <= 0 && this.head.lastRecord <= lastRecord) return;
    this.head.lastStep = lastStep;
    this.head.lastRecord = lastRecord;
    this.history.truncate(lastRecord);
    this.series.truncate(lastStep + 1);
    const { navigator } = this;
    const goal = navigator.goal ?? navigator.fold.step;
    if (navigator.fold.record > lastRecord || goal > lastStep) {
      navigator.forget();
      this.seek(Math.min(goal, lastStep));
    }
    if (lost > 0)
      this.say(
        `${lost === 1 ? 'The last step' : `The last ${lost} steps`} seen here ${lost === 1 ? 'was' : 'were'} not saved: the server ended before. The recording ends with step ${lastStep}.`,
      );
  }

  /** Is more of the recording on its way for a search? */
  get loading(): boolean {
    return this.loadingBeside;
  }

  /** Load what lies beside the loaded part; false when there is nothing more. */
  loadBeside(direction: 1 | -1): boolean {
    const { navigator } = this;
    if (direction > 0 ? !navigator.hasLater() : !navigator.hasEarlier()) return false;
    this.loadingBeside = true;
    const load = direction > 0 ? navigator.loadLater() : navigator.loadEarlier();
    load
      .catch((error: Error) => this.say(`More of the recording could not be loaded: ${error.message}.`))
      .finally(() => {
        this.loadingBeside = false;
        this.wake();
      });
    return true;
  }

  /** The reader wants to read further back than what is loaded. */
  loadEarlier(): void {
    if (this.mode === 'follow') this.pause();
    this.navigator.loadEarlier().catch((error: Error) => {
      this.notice = `Earlier records could not be loaded: ${error.message}.`;
      this.dirty = true;
      this.wake();
    });
  }

  retry(): void {
    this.notice = null;
    this.head.retry();
  }

  // -- what is true -------------------------------------------------------------------------------------------------

  private fail(record: number, message: string): void {
    this.trust.fail(record, message);
    this.dirty = true;
  }

  private applied(fold: Fold, record: AnyRecord): void {
    this.trust.look(fold);
    this.texts.note(record);
    if (record.type === 'step') noteCopies(this.copied, fold, record);
    this.keeper.look(fold);
  }

  light(): Light {
    return this.trust.light(this.fold);
  }

  position(): Position {
    const { fold, navigator } = this;
    return {
      mode: this.mode,
      loaded: fold.loaded,
      record: fold.record,
      step: fold.step,
      op: fold.op,
      time: fold.time,
      lastStep: this.lastStep,
      lastRecord: this.head.lastRecord,
      moving: this.mode !== 'follow' && navigator.waiting,
      target: this.mode === 'follow' ? null : navigator.goal,
    };
  }

  /** Blocks that can be used: null blocks are not. */
  usable(): number {
    let pinned = 0;
    for (const pins of this.fold.pins.map.values()) if (pins.has(Pin.null_block)) pinned++;
    return this.hello.num_blocks - pinned;
  }

  // -- where the reader is ------------------------------------------------------------------------------------------

  toLiveEnd(): void {
    this.playing = null;
    this.notice = null;
    if (this.head.link === 'replay') {
      this.seek(this.lastStep);
      return;
    }
    if (this.mode !== 'follow') {
      this.navigator.stop();
      this.mode = 'follow';
      this.changes.all();
    }
    this.changed();
  }

  /** Leave the live end, at the step where it is. */
  private stay(): void {
    const { fold } = this.navigator;
    if (this.mode === 'follow' && this.head.fold.loaded) {
      fold.copyFrom(this.head.fold);
      this.trust.copy(this.head.fold, fold);
      this.mode = 'at';
      this.navigator.look();
      this.changes.jump();
    }
    this.mode = 'at';
    this.dirty = true;
  }

  seek(step: number): void {
    this.playing = null;
    this.notice = null;
    this.goTo(step);
  }

  /** Go on or back from where the view is, or is on its way to: the page may not have seen that yet. */
  seekBy(steps: number): void {
    const { fold, navigator } = this;
    this.seek(((this.mode === 'follow' ? null : navigator.goal) ?? fold.step) + steps);
  }

  private goTo(step: number): void {
    if (this.mode === 'follow') this.stay();
    this.navigator.go(Math.max(0, Math.min(step, this.lastStep)));
    this.history.focus = this.navigator.fold.record;
    this.changed();
  }

  /** Stand where the view is, should it move. */
  pauseHere(): void {
    this.notice = null;
    if (this.mode !== 'at') this.pause();
  }

  pause(): void {
    this.playing = null;
    this.navigator.stop();
    if (this.mode === 'follow') this.stay();
    this.mode = 'at';
    this.changed();
  }

  /** Go on from here at `rate` times the recorded pace. */
  play(rate: number): void {
    if (this.mode === 'follow') return;
    this.notice = null;
    let from = this.fold.time;
    if (this.head.link === 'replay' && this.fold.step >= this.lastStep) {
      // Nothing comes after the end: from the beginning.
      this.navigator.go(0);
      const begins = this.series.get('time', 0);
      from = Number.isNaN(begins) ? 0 : begins;
    }
    this.mode = 'play';
    this.playing = { rate, from, since: performance.now() };
    this.changed();
  }

  /** Where a view that plays should be now. True while it plays. */
  private advance(): boolean {
    const { playing } = this;
    if (playing === null || this.mode !== 'play') return false;
    const time = playing.from + (performance.now() - playing.since) * 1e6 * playing.rate;
    const step = this.series.stepAt(time);
    if (step >= this.lastStep) {
      if (this.head.link === 'replay') {
        this.mode = 'at';
        this.playing = null;
        this.navigator.go(this.lastStep);
      } else this.toLiveEnd();
      return false;
    }
    if (step > this.navigator.fold.step && step !== this.navigator.goal) this.navigator.go(step);
    return true;
  }

  /** Do what there is to do, for about `budget` ms. `again`: at once; `soon`: with the next frame. */
  work(budget: number): 'again' | 'soon' | 'idle' {
    const now = performance.now();
    const playing = this.advance();
    const before = this.navigator.fold.record;
    // The view first: somebody waits for it.
    const moving = this.navigator.work(now + budget * 0.7);
    if (this.navigator.fold.record !== before || this.navigator.moving) {
      this.dirty = true;
      this.history.focus = this.navigator.fold.record;
    }
    const more = this.head.intake(now + budget);
    if (moving || more) return 'again';
    return playing ? 'soon' : 'idle';
  }
}
