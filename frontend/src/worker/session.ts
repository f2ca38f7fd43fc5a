/**
 * One session as this page follows it.
 *
 *     websocket ──▶ head ──▶ its fold ──▶ history, series          (live: always at the live end)
 *     requests  ──▶ navigator ──▶ view fold                        (elsewhere: where the reader is)
 *
 * While following, the head's fold is what is shown. Whoever goes back looks at a fold of their own, and the head goes on
 * unseen: recording and engine never wait for a reader.
 */

import type { Origin } from '../filter/moment';
import { Contents } from '../ledger/contents';
import { type AnyRecord, Fold } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import { Pin, VERSION } from '../ledger/generated/constants';
import type { Hello, Step } from '../ledger/generated/types';
import { RequestMemory } from '../ledger/requests';
import { Changes } from './changes';
import type { EmbeddedRecording } from './embedded';
import { Head } from './head';
import { boundsOf, History } from './history';
import { Keeper } from './keeper';
import { Landmarks } from './landmarks';
import { Lanes } from './lanes';
import { Navigator } from './navigator';
import type { Destination } from './place';
import type { Light, Mode, Notice } from './protocol';
import { requestsOf } from './requests';
import { Series } from './series';
import type { Requests, Wish } from './source';
import { StepTable } from './steps';
import { Texts } from './texts';
import { Traces } from './traces';
import { Transport } from './transport';
import { Trust } from './trust';
import { WideLanes } from './wideLanes';

/** Requests that a page may know without looking which of them can be forgotten. */
const FEWEST_KNOWN = 4096;

export interface OpenOptions {
  readonly session: string;
  readonly api: string;
  readonly live: boolean;
  /** Where to look; null: the live end, or the first step. */
  readonly to: Destination | null;
  readonly lastStep: number;
  readonly lastRecord: number;
  readonly recording: EmbeddedRecording | null;
  /** What is asked for while it is live. */
  readonly wish: Wish;
}

export class Session {
  readonly history: History;
  readonly series = new Series();
  readonly changes: Changes;
  readonly head: Head;
  readonly navigator: Navigator;
  mode: Mode;
  notice: Notice | null = null;
  readonly traces: Traces;
  readonly memory = new RequestMemory();
  readonly texts: Texts;
  /** Something that the page does not know yet, beside the map. */
  dirty = true;
  private readonly trust = new Trust();
  private readonly keeper: Keeper;
  readonly landmarks: Landmarks;
  readonly lanes: Lanes;
  readonly wideLanes: WideLanes;
  readonly transport = new Transport(this);
  readonly table: StepTable;
  /** As many requests as are known before those are forgotten that no record here tells of. */
  private mostKnown = FEWEST_KNOWN;

  constructor(
    options: OpenOptions,
    readonly hello: Hello,
    readonly requests: Requests,
    private readonly wake: () => void,
  ) {
    // A page that holds its recording has no server that could leave something out.
    this.history = new History(boundsOf(hello.num_blocks, options.recording === null));
    this.keeper = new Keeper(this.history);
    const contents = new Contents();
    const newFold = (): Fold => new Fold(hello.num_blocks, hello.block_size, contents, this.memory);
    this.changes = new Changes(hello.num_blocks, hello.block_size);
    this.navigator = new Navigator(newFold(), this.history, this.series, requests, this.changes, {
      applied: (fold, record) => this.applied(fold, record),
      compared: (fold) => this.trust.look(fold),
      fault: (record, message) => this.fail(record, message),
      lastRecord: () => this.head.lastRecord,
      notice: (told) => {
        this.notice = told;
        this.dirty = true;
      },
      wake,
    });
    const { lastStep, lastRecord, to, wish } = options;
    const isTold = !options.live || wish.text;
    this.texts = new Texts(
      (hello.record_text ?? 'full') === 'full',
      hello.block_size,
      this.memory,
      requests,
      () => this.changed(),
      isTold,
    );
    this.mode = options.live && to === null ? 'follow' : 'at';
    this.landmarks = new Landmarks(this.series, requests, () => this.changed());
    this.lanes = new Lanes(
      requests,
      this.memory,
      () => this.changed(),
      () => this.navigator.moving,
    );
    this.wideLanes = new WideLanes(
      requests,
      this.series,
      () => this.changed(),
      () => this.navigator.moving,
    );
    this.traces = new Traces(this.memory, requests, this.landmarks, () => this.changed());
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
      wish,
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
      void this.landmarks.load();
      if (this.mode !== 'at') return;
      // Who opens a recording reads it from its beginning: at its end the pool is empty.
      this.transport.go(to ?? { kind: 'step', step: 0 });
      if (to?.kind === 'step' && to.step > this.lastStep && this.lastStep >= 0) {
        this.say({ kind: 'noStep', step: to.step, last: this.lastStep });
      }
      if (!options.live) this.navigator.lookAhead.begin(this.table, hello.num_blocks);
    });
  }

  static async open(options: OpenOptions, wake: () => void): Promise<Session> {
    const requests = requestsOf(options);
    const hello = openFrame(await requests.hello()) as Hello;
    if (hello.type !== 'hello') throw new Error('the server did not say what this session is');
    if (hello.version > VERSION) {
      throw new Error(`this session has version ${hello.version} of the ledger, this page knows ${VERSION}`);
    }
    return new Session(options, hello, requests, wake);
  }

  close(): void {
    this.navigator.lookAhead.close();
    this.table.close();
    this.landmarks.close();
    this.lanes.close();
    this.wideLanes.close();
    this.head.close();
    this.navigator.stop();
  }

  get fold(): Fold {
    return this.mode === 'follow' ? this.head.fold : this.navigator.fold;
  }

  /** Where the wall clock stood when it began, in this browser's zone. */
  get origin(): Origin {
    const startUtcUs = this.hello.utc_us;
    return { startUtcUs, zone: -new Date(startUtcUs / 1000).getTimezoneOffset() * 60e9 };
  }

  /** A sequence's blocks are one run: blocks are not taken from the head of the free queue. */
  get isContiguous(): boolean {
    return this.hello.config?.memory_backend === 'contiguous';
  }

  /** Not 0 where a part of a session is all that there is. */
  get firstStep(): number {
    return this.table.firstStep;
  }

  get lastStep(): number {
    return this.head.lastStep;
  }

  /** Something changed that the page does not know yet. */
  changed(): void {
    this.dirty = true;
    this.wake();
  }

  /** The record of the step that is shown. */
  get current(): Step | null {
    return this.mode === 'follow' ? this.head.step : this.navigator.current;
  }

  private tableChanged(before: Notice | null): void {
    this.head.lastStep = Math.max(this.lastStep, this.table.lastStep);
    if (this.table.fault !== null) this.notice = this.table.fault;
    else if (this.notice === before) this.notice = null;
    this.changed();
  }

  /** Something for the reader to know. */
  say(notice: Notice): void {
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
    this.landmarks.note(record, fold.step);
    this.lanes.follow(record, loaded);
    this.dirty = true;
    if (this.mode !== 'follow') return;
    this.history.focus = record.record;
    if (loaded) this.changes.all();
    else if (record.type === 'step') this.changes.add(fold.blocks);
  }

  /** The session is no longer live: what was followed is now a recording. */
  private headEnded(): void {
    if (this.mode === 'follow') {
      if (this.head.fold.loaded) this.stay();
      else this.transport.seek(Math.max(0, this.lastStep));
    }
    // Who asked for a place is on the way there.
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
    this.landmarks.truncate(lastStep);
    this.lanes.forget();
    this.wideLanes.forget();
    const { navigator } = this;
    const goal = navigator.goal?.step ?? navigator.fold.step;
    if (navigator.fold.record > lastRecord || goal > lastStep) {
      navigator.forget();
      this.transport.seek(Math.min(goal, lastStep));
    }
    if (lost > 0) this.say({ kind: 'notSaved', lost, last: lastStep });
  }

  /** The reader wants to read further back than what is loaded. */
  loadEarlier(): void {
    if (this.mode === 'follow') this.pause();
    this.navigator.beside
      .loadEarlier()
      .catch((error: Error) => this.say({ kind: 'noEarlier', why: error.message }));
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

  /** A long session has more requests than a page can remember: those stay that the records here tell of. */
  private forgetRequests(): void {
    const { history, memory, texts } = this;
    const folds = [this.head.fold, this.navigator.fold];
    const gone = memory.forget(
      history.ranges,
      (request) => texts.wanted.has(request) || folds.some((fold) => fold.requests.rows.has(request)),
    );
    texts.transcripts.forget(gone);
    this.traces.careers.forget(gone);
    this.mostKnown = Math.max(FEWEST_KNOWN, 2 * memory.size);
  }

  private applied(fold: Fold, record: AnyRecord): void {
    if (this.memory.size > this.mostKnown) this.forgetRequests();
    this.trust.look(fold);
    this.texts.note(record, fold === this.navigator.fold && this.navigator.waiting);
    this.traces.note(fold, record);
    this.keeper.look(fold);
  }

  light(): Light {
    return this.trust.light(this.fold);
  }

  /** Blocks that can be used: null blocks are not. */
  usable(): number {
    let pinned = 0;
    for (const pins of this.fold.pins.map.values()) if (pins.has(Pin.null_block)) pinned++;
    return this.hello.num_blocks - pinned;
  }

  // -- where the reader is ------------------------------------------------------------------------------------------

  toLiveEnd(): void {
    this.notice = null;
    if (this.head.link === 'replay') {
      this.transport.seek(this.lastStep);
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
  stay(): void {
    const { fold } = this.navigator;
    if (this.mode === 'follow' && this.head.fold.loaded) {
      fold.copyFrom(this.head.fold);
      this.trust.copy(this.head.fold, fold);
      this.navigator.look();
      this.changes.jump();
    }
    this.mode = 'at';
    this.dirty = true;
  }

  /** Stand where the view is. */
  pause(): void {
    this.navigator.stop();
    if (this.mode === 'follow') this.stay();
    this.mode = 'at';
    this.changed();
  }

  /** Do what there is to do, for about `budget` ms. `again`: at once; `soon`: with the next frame. */
  work(budget: number): 'again' | 'soon' | 'idle' {
    const now = performance.now();
    const playing = this.transport.advance();
    const before = this.navigator.fold.record;
    // The view first: somebody waits for it.
    const moving = this.navigator.work(now + budget * 0.7);
    if (this.navigator.fold.record !== before || this.navigator.moving || moving) {
      this.history.focus = this.navigator.fold.record;
      if (this.history.focus !== before) this.dirty = true;
    }
    const more = this.head.intake(now + budget);
    if (moving || more) return 'again';
    return playing ? 'soon' : 'idle';
  }
}
