/**
 * One session as this page follows it.
 *
 *     websocket ──▶ intake ──▶ head fold ──▶ history, series          (live: always at the live end)
 *     requests  ──▶ navigator ──▶ view fold                           (elsewhere: where the reader is)
 *
 * While following, the head fold is what is shown. Whoever goes back looks at a fold of their own, and the head goes on
 * unseen: recording and engine never wait for a reader.
 */

import { decodeOperations } from '../ledger/columns';
import { Contents } from '../ledger/contents';
import { type AnyRecord, Fold, isRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import { Operation, Pin, VERSION } from '../ledger/generated/constants';
import type { Frame, Health, Hello, Status, Step } from '../ledger/generated/types';
import { RequestMemory } from '../ledger/requests';
import { Changes, type StepChanges } from './changes';
import { History } from './history';
import { Navigator } from './navigator';
import type { Light, LinkState, Mode, Position } from './protocol';
import { Series } from './series';
import { Live, Requests } from './source';
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

/** ms between the tries to get the steps that were not yet committed when this page joined. */
const HOLE_DELAYS = [150, 500, 1000, 1500, 2500, 4000];

/** Keep a state each so many operations, or twice the blocks, whichever is more. */
const SNAPSHOT_OPERATIONS = 65_536;

export class Session {
  readonly history = new History();
  readonly series = new Series();
  readonly changes: Changes;
  readonly head: Fold;
  readonly navigator: Navigator;
  mode: Mode;
  link: LinkState;
  health: Health | null = null;
  status: Status | null = null;
  notice: string | null = null;
  gaps = 0;
  ending: 'ended' | 'interrupted' | null = null;
  lag: number | null = null;
  lastStep: number;
  lastRecord: number;
  /** Blocks that a copy made, with the generation that it began: it wears a mark in the tables. */
  readonly copied = new Map<number, number>();
  /** The last step that the head folded. */
  headStep: Step | null = null;
  readonly memory = new RequestMemory();
  /** Something that the page does not know yet, beside the map. */
  dirty = true;
  private readonly trust = new Trust();
  private readonly incoming: Uint8Array[] = [];
  private live: Live | null = null;
  private closed = false;
  private loadingBeside = false;
  /** What was said when the table of steps could not be loaded, until it is. */
  private withoutSteps: string | null = null;
  /** The operation at which each fold was kept last. */
  private readonly kept = new WeakMap<Fold, number>();
  private playing: { rate: number; from: number; since: number } | null = null;
  private readonly clockOffset: number;

  constructor(
    options: OpenOptions,
    readonly hello: Hello,
    private readonly requests: Requests,
    private readonly wake: () => void,
  ) {
    const contents = new Contents();
    const { memory } = this;
    this.head = new Fold(hello.num_blocks, hello.block_size, contents, memory);
    const view = new Fold(hello.num_blocks, hello.block_size, contents, memory);
    this.changes = new Changes(hello.num_blocks);
    this.navigator = new Navigator(view, this.history, this.series, requests, this.changes, {
      applied: (fold, record) => this.applied(fold, record),
      fault: (record, message) => this.fail(record, message),
      lastRecord: () => this.lastRecord,
      notice: (message) => {
        this.notice = message;
        this.dirty = true;
      },
      wake,
    });
    this.lastStep = options.lastStep;
    this.lastRecord = options.lastRecord;
    this.clockOffset = hello.utc_us / 1000;
    this.link = options.live ? 'connecting' : 'replay';
    this.mode = options.live && options.step === null ? 'follow' : 'at';
    if (options.live) this.connect();
    void this.loadSteps().then(() => {
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
    this.closed = true;
    this.live?.close();
    this.navigator.stop();
  }

  get fold(): Fold {
    return this.mode === 'follow' ? this.head : this.navigator.fold;
  }

  /** The record of the step that is shown. */
  get current(): Step | null {
    return this.mode === 'follow' ? this.headStep : this.navigator.current;
  }

  private async loadSteps(): Promise<void> {
    try {
      const steps = await this.requests.steps();
      this.series.load(steps);
      this.lastStep = Math.max(this.lastStep, steps.step.at(-1) ?? -1);
      if (this.notice === this.withoutSteps) this.notice = null;
      this.withoutSteps = null;
    } catch (error) {
      this.notice =
        this.withoutSteps = `The table of steps could not be loaded: ${(error as Error).message}.`;
      this.retrySteps();
    }
    this.dirty = true;
    this.wake();
  }

  /** Ask for the table of steps until it comes. */
  private retrySteps(): void {
    setTimeout(() => {
      if (!this.closed && this.withoutSteps !== null) void this.loadSteps();
    }, 2000);
  }

  /** Something for the reader to know. */
  say(notice: string): void {
    this.notice = notice;
    this.dirty = true;
    this.wake();
  }

  dismiss(): void {
    this.notice = null;
    this.dirty = true;
    this.wake();
  }

  // -- intake -------------------------------------------------------------------------------------------------------

  private connect(): void {
    this.live = new Live(this.requests, {
      after: () => (this.head.loaded && this.incoming.length === 0 ? this.head.record : null),
      frame: (bytes) => {
        this.incoming.push(bytes);
        this.wake();
      },
      open: () => {
        this.link = 'open';
        this.dirty = true;
        this.fillHole(0);
        this.wake();
      },
      lost: () => {
        this.link = 'lost';
        // Nobody says any more how the engine goes.
        this.health = null;
        this.lag = null;
        this.dirty = true;
        this.wake();
      },
      ended: () => this.end(null),
    });
  }

  /** Steps passed between the table of steps and the first live record: ask again until they are committed. */
  private fillHole(tried: number): void {
    const delay = HOLE_DELAYS[tried];
    this.series.filling = delay !== undefined;
    if (delay === undefined) return;
    setTimeout(async () => {
      if (this.closed || this.link !== 'open') return;
      if (this.head.loaded && this.series.hole(this.head.step) === null) {
        this.series.filling = false;
        return;
      }
      await this.loadSteps();
      this.fillHole(tried + 1);
    }, delay);
  }

  /** The session is no longer live: what was followed is now a recording. */
  private end(how: 'ended' | null): void {
    this.link = 'replay';
    this.health = null;
    this.lag = null;
    this.series.filling = false;
    if (this.mode === 'follow' && this.head.loaded) this.stay();
    else if (!this.navigator.fold.loaded) this.seek(Math.max(0, this.lastStep));
    this.dirty = true;
    this.wake();
    // The engine said goodbye, and all was saved; else it is the server that knows.
    this.ending = how;
    if (how === null) void this.settle(0);
  }

  /** How it ended and what of it was saved, which may be less than this page saw: the server knows. */
  private async settle(tried: number): Promise<void> {
    try {
      const told = await this.requests.about();
      if (this.closed) return;
      if (told.state !== 'live') {
        this.ending = told.state;
        if (told.state === 'interrupted') this.keepOnly(told.last_step ?? -1, told.last_record ?? -1);
        this.dirty = true;
        this.wake();
        return;
      }
    } catch {
      // Asked again below.
    }
    if (tried < 20 && !this.closed) setTimeout(() => void this.settle(tried + 1), 1000);
  }

  /** Steps past the end of the recording were seen and not saved: they are no more. */
  private keepOnly(lastStep: number, lastRecord: number): void {
    const lost = this.lastStep - lastStep;
    if (lost <= 0 && this.lastRecord <= lastRecord) return;
    this.lastStep = lastStep;
    this.lastRecord = lastRecord;
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
    this.live?.restart();
  }

  /** Take in what came, for a while; true when there is more. */
  private intake(deadline: number): boolean {
    let taken = 0;
    while (taken < this.incoming.length && (taken === 0 || performance.now() < deadline)) {
      this.receive(this.incoming[taken++]!);
    }
    this.incoming.splice(0, taken);
    return this.incoming.length > 0;
  }

  private receive(bytes: Uint8Array): void {
    let frame: Frame;
    try {
      frame = openFrame(bytes);
    } catch (error) {
      this.fail(this.head.record + 1, (error as Error).message);
      this.desynchronise('a record could not be read');
      return;
    }
    if (isRecord(frame)) {
      this.takeRecord(frame, bytes);
      return;
    }
    this.dirty = true;
    if (frame.type === 'health') this.health = frame;
    else if (frame.type === 'status') {
      this.status = frame;
      this.lastRecord = Math.max(this.lastRecord, frame.last_record ?? 0);
    } else if (frame.type === 'skip') {
      this.desynchronise(
        `this page was too slow: records ${frame.first} to ${frame.last} were left out for it`,
        false,
      );
    } else if (frame.type === 'bye') {
      this.live?.close();
      this.end('ended');
    }
  }

  private takeRecord(record: AnyRecord, bytes: Uint8Array): void {
    const { head } = this;
    if (record.type === 'keyframe' && record.record !== head.record + 1) {
      // The server's own, to join or to go on after a hole: it bears the number of the last record that it holds.
      head.loaded = false;
    } else {
      this.history.head = record.record;
      this.history.add(record.record, bytes);
    }
    const loading = !head.loaded;
    try {
      head.apply(record);
    } catch (error) {
      this.fail(record.record, (error as Error).message);
      this.live?.close();
      return;
    }
    if (record.type === 'gap') {
      this.gaps++;
      this.trust.unverified = `records ${record.first} to ${record.last} are lost: ${record.reason}`;
    } else if (record.type === 'step') {
      this.headStep = record;
      this.lastStep = Math.max(this.lastStep, record.step);
      this.series.append(record, head.usage());
      this.lag = Date.now() - this.clockOffset - record.sealed / 1e6;
    }
    this.lastRecord = Math.max(this.lastRecord, record.record);
    this.applied(head, record);
    this.dirty = true;
    if (this.mode !== 'follow') return;
    this.history.focus = record.record;
    if (loading) this.changes.all();
    else if (record.type === 'step') this.changes.add(head.blocks);
  }

  /** The head no longer knows the state; unless a keyframe comes by itself, ask for one by joining anew. */
  private desynchronise(why: string, rejoin = true): void {
    this.head.loaded = false;
    this.head.verified = false;
    this.trust.unverified = why;
    this.dirty = true;
    if (!rejoin) return;
    this.incoming.length = 0;
    this.live?.restart();
  }

  // -- what is true -------------------------------------------------------------------------------------------------

  private fail(record: number, message: string): void {
    this.trust.fail(record, message);
    this.dirty = true;
  }

  private applied(fold: Fold, record: AnyRecord): void {
    this.trust.look(fold);
    if (record.type === 'step') this.noteCopies(fold, record);
    const every = Math.max(SNAPSHOT_OPERATIONS, 2 * fold.numBlocks);
    const last = this.kept.get(fold);
    if (last === undefined) this.kept.set(fold, fold.op);
    else if (fold.verified && Math.abs(fold.op - last) >= every && this.history.get(fold.record)) {
      this.kept.set(fold, fold.op);
      if (!this.history.hasSnapshot(fold.record)) this.history.addSnapshot(fold.snapshot());
    }
  }

  private noteCopies(fold: Fold, step: Step): void {
    const { kind, block, source } = step.operations ?? {};
    if (kind === undefined || block === undefined || source === undefined) return;
    const blocks = new DataView(block.buffer, block.byteOffset, block.byteLength);
    for (let i = kind.indexOf(Operation.copy); i >= 0; i = kind.indexOf(Operation.copy, i + 1)) {
      const target = blocks.getUint32(4 * i, true);
      if (target < fold.numBlocks) this.copied.set(target, fold.blocks.generation[target]!);
    }
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
      lastRecord: this.lastRecord,
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

  /** The blocks that the present step changed. */
  changesOfStep(): StepChanges {
    const { numBlocks } = this.fold;
    const changed = new Set<number>();
    const filled = new Set<number>();
    try {
      const columns = decodeOperations(this.current?.operations);
      for (let i = 0; i < columns.length; i++) {
        (columns.kind[i] === Operation.fill ? filled : changed).add(columns.block[i]!);
      }
      for (const source of columns.source) changed.add(source);
    } catch {
      // What can't be read is the fold's to report.
    }
    const inPool = (block: number): boolean => block < numBlocks;
    return {
      changed: Uint32Array.from(changed).filter(inPool),
      filled: Uint32Array.from(filled).filter((block) => inPool(block) && !changed.has(block)),
    };
  }

  // -- where the reader is ------------------------------------------------------------------------------------------

  toLiveEnd(): void {
    this.playing = null;
    this.notice = null;
    if (this.link === 'replay') {
      this.seek(this.lastStep);
      return;
    }
    if (this.mode !== 'follow') {
      this.navigator.stop();
      this.mode = 'follow';
      this.changes.all();
    }
    this.dirty = true;
    this.wake();
  }

  /** Leave the live end, at the step where it is. */
  private stay(): void {
    const { fold } = this.navigator;
    if (this.mode === 'follow' && this.head.loaded) {
      fold.copyFrom(this.head);
      this.trust.copy(this.head, fold);
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

  private goTo(step: number): void {
    if (this.mode === 'follow') this.stay();
    this.navigator.go(Math.max(0, Math.min(step, this.lastStep)));
    this.history.focus = this.navigator.fold.record;
    this.dirty = true;
    this.wake();
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
    this.dirty = true;
    this.wake();
  }

  /** Go on from here at `rate` times the recorded pace. */
  play(rate: number): void {
    if (this.mode === 'follow') return;
    this.notice = null;
    let from = this.fold.time;
    if (this.link === 'replay' && this.fold.step >= this.lastStep) {
      // Nothing comes after the end: from the beginning.
      this.navigator.go(0);
      const begins = this.series.get('time', 0);
      from = Number.isNaN(begins) ? 0 : begins;
    }
    this.mode = 'play';
    this.playing = { rate, from, since: performance.now() };
    this.dirty = true;
    this.wake();
  }

  /** Where a view that plays should be now. True while it plays. */
  private advance(): boolean {
    const { playing } = this;
    if (playing === null || this.mode !== 'play') return false;
    const time = playing.from + (performance.now() - playing.since) * 1e6 * playing.rate;
    const step = this.series.stepAt(time);
    if (step >= this.lastStep) {
      if (this.link === 'replay') {
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
    const more = this.intake(now + budget);
    if (moving || more) return 'again';
    return playing ? 'soon' : 'idle';
  }
}
