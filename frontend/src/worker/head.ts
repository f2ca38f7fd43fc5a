/**
 * The live end of a session: what the engine does now, folded as it comes.
 *
 *     websocket ──▶ incoming ──▶ fold ──▶ history, series
 *
 * It goes on whether or not somebody looks at it. When the link breaks it is tried again; when the session ends, what was
 * followed is a recording.
 */

import { type AnyRecord, type Fold, isRecord } from '../ledger/fold';
import { openFrame, sealFrame } from '../ledger/frame';
import type { Frame, Health, Status, Step } from '../ledger/generated/types';
import { type Before, beforeOf, textBetween } from '../ledger/withoutText';
import type { History } from './history';
import type { Doubt, LinkState } from './protocol';
import type { Series } from './series';
import { Live, type Requests, type Wish } from './source';
import type { Trust } from './trust';

export interface HeadHandlers {
  /** The fold applied a record; `loaded`: it took a state in place of what it knew. */
  applied(fold: Fold, record: AnyRecord, loaded: boolean): void;
  /** A record that could not be read or followed. */
  fault(record: number, message: string): void;
  /** The session is no longer live. */
  ended(): void;
  /** The server knows that the recording ends here, which may be before what was seen. */
  cut(lastStep: number, lastRecord: number): void;
  /** Ask for the table of steps again. */
  loadSteps(): Promise<void>;
  /** Something else than the state changed. */
  changed(): void;
  wake(): void;
}

/** ms between the tries to get the steps that were not yet committed when this page joined. */
const HOLE_DELAYS = [150, 500, 1000, 1500, 2500, 4000];

export class Head {
  link: LinkState;
  health: Health | null = null;
  status: Status | null = null;
  gaps = 0;
  ending: 'ended' | 'interrupted' | null = null;
  /** ms from the sealing of the last record to its coming here; null: nothing was sealed since this page is linked. */
  lag: number | null = null;
  /** ms since 1970: what was sealed before says how long ago it was, not how long it took. */
  private linkedAt = Number.POSITIVE_INFINITY;
  /** The last step that was folded. */
  step: Step | null = null;
  private readonly incoming: Uint8Array[] = [];
  /** The last record that came, for who gets no text. */
  private before: Before | null = null;
  /** Records were left out for this page: the keyframe that follows is the server's own, whatever its number. */
  private skipped = false;
  private live: Live | null = null;
  private closed = false;

  constructor(
    readonly fold: Fold,
    live: boolean,
    /** ms since 1970 at 0 ns of the session. */
    private readonly clockOffset: number,
    /** The last step and record that the session has, as far as is known. */
    public lastStep: number,
    public lastRecord: number,
    private readonly history: History,
    private readonly series: Series,
    private readonly trust: Trust,
    private readonly requests: Requests,
    private readonly wish: Wish,
    private readonly handlers: HeadHandlers,
  ) {
    this.link = live ? 'connecting' : 'replay';
    if (live) this.connect();
  }

  close(): void {
    this.closed = true;
    this.live?.close();
  }

  /** Connect anew, now. */
  retry(): void {
    this.live?.restart();
  }

  private connect(): void {
    this.live = new Live(this.requests, this.wish, {
      after: () => (this.fold.loaded && this.incoming.length === 0 ? this.fold.record : null),
      frame: (bytes) => {
        this.incoming.push(bytes);
        this.handlers.wake();
      },
      open: () => {
        this.link = 'open';
        this.linkedAt = Date.now();
        this.fillHole(0);
        this.handlers.changed();
      },
      lost: () => {
        this.link = 'lost';
        this.forgetEngine();
        this.handlers.changed();
      },
      ended: () => this.end(null),
    });
  }

  /** Nobody says any more how the engine goes. */
  private forgetEngine(): void {
    this.health = null;
    this.lag = null;
  }

  /** Steps passed between the table of steps and the first live record: ask again until they are committed. */
  private fillHole(tried: number): void {
    const delay = HOLE_DELAYS[tried];
    this.series.filling = delay !== undefined;
    if (delay === undefined) return;
    setTimeout(async () => {
      if (this.closed || this.link !== 'open') return;
      if (this.fold.loaded && this.series.hole(this.fold.step) === null) {
        this.series.filling = false;
        return;
      }
      await this.handlers.loadSteps();
      this.fillHole(tried + 1);
    }, delay);
  }

  // -- intake -------------------------------------------------------------------------------------------------------

  /** Take in what came, for a while; true when there is more. */
  intake(deadline: number): boolean {
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
      this.handlers.fault(this.fold.record + 1, (error as Error).message);
      this.desynchronise({ kind: 'unreadable' });
      return;
    }
    if (isRecord(frame)) {
      this.takeRecord(frame, bytes);
      return;
    }
    if (frame.type === 'health') this.health = frame;
    else if (frame.type === 'status') {
      this.status = frame;
      this.lastRecord = Math.max(this.lastRecord, frame.last_record ?? 0);
    } else if (frame.type === 'skip') {
      this.skipped = true;
      this.desynchronise(
        { kind: this.wish.rate === null ? 'slow' : 'less', first: frame.first, last: frame.last },
        false,
      );
      // Not at once: another skip may follow soon.
      if (!this.series.filling) this.fillHole(HOLE_DELAYS.length - 1);
    } else if (frame.type === 'bye') {
      this.live?.close();
      this.end('ended');
    }
    this.handlers.changed();
  }

  private takeRecord(record: AnyRecord, bytes: Uint8Array): void {
    if (!this.wish.text && this.fold.loaded) this.standInForText(record);
    this.before = beforeOf(record);
    this.takeNext(record, bytes);
  }

  /** An empty text in the place of one that was not sent: then the history has no hole, and the fold finds all in order. */
  private standInForText(record: AnyRecord): void {
    const text = textBetween(this.before, record);
    if (text !== null && text.record === this.fold.record + 1) this.takeNext(text, sealFrame(text));
  }

  private takeNext(record: AnyRecord, bytes: Uint8Array): void {
    const { fold } = this;
    if (record.type === 'keyframe' && (this.skipped || record.record !== fold.record + 1)) {
      // The server's own, to join or to go on after a hole: it bears the number of the last record that it holds.
      fold.loaded = false;
      this.skipped = false;
    } else {
      this.history.head = record.record;
      this.history.add(record.record, bytes);
    }
    const loading = !fold.loaded;
    try {
      fold.apply(record);
    } catch (error) {
      this.handlers.fault(record.record, (error as Error).message);
      this.live?.close();
      return;
    }
    if (record.type === 'gap') {
      this.gaps++;
      const { first, last, reason: why } = record;
      this.trust.unverified = { kind: 'lost', first, last, why };
    } else if (record.type === 'step') {
      this.step = record;
      this.lastStep = Math.max(this.lastStep, record.step);
      this.series.append(record, fold.usage());
      const sealedAt = this.clockOffset + record.sealed / 1e6;
      if (sealedAt >= this.linkedAt) this.lag = Date.now() - sealedAt;
    } else if (record.type === 'keyframe' && loading) {
      // It may be all that comes for a while: its step is the last one, and the record of that is not here.
      this.step = null;
      this.lastStep = Math.max(this.lastStep, record.step);
    }
    this.lastRecord = Math.max(this.lastRecord, record.record);
    this.handlers.applied(fold, record, loading);
  }

  /** The fold no longer knows the state; unless a keyframe comes by itself, ask for one by joining anew. */
  private desynchronise(why: Doubt, rejoin = true): void {
    this.fold.loaded = false;
    this.fold.verified = false;
    this.trust.unverified = why;
    this.handlers.changed();
    if (!rejoin) return;
    this.incoming.length = 0;
    this.live?.restart();
  }

  /** The last record that is here, or while nothing comes, that there is: the server may know of more that are on their way. */
  get lastHere(): number {
    return this.link !== 'replay' && this.fold.loaded ? this.fold.record : this.lastRecord;
  }

  // -- the end ------------------------------------------------------------------------------------------------------

  private end(how: 'ended' | null): void {
    this.link = 'replay';
    this.forgetEngine();
    this.series.filling = false;
    // The engine said goodbye, and all was saved; else it is the server that knows.
    this.ending = how;
    this.handlers.ended();
    if (how === null) void this.settle(0);
  }

  /** How it ended and what of it was saved, which may be less than this page saw: the server knows. */
  private async settle(tried: number): Promise<void> {
    try {
      const told = await this.requests.about();
      if (this.closed) return;
      if (told.state !== 'live') {
        this.ending = told.state;
        if (told.state === 'interrupted') this.handlers.cut(told.last_step ?? -1, told.last_record ?? -1);
        this.handlers.changed();
        return;
      }
    } catch {
      // Asked again below.
    }
    if (tried < 20 && !this.closed) setTimeout(() => void this.settle(tried + 1), 1000);
  }
}
