/**
 * Where the reader wants the view to be: somewhere, a little further, at the next landmark, or going on at a pace.
 *
 * The navigator brings it there. The page may not have seen yet where that is: whoever goes on from the present place goes on
 * from where the view is on its way to.
 */

import type { LandmarkKind } from './landmarks';
import { type Destination, type Place, placeOf, whole } from './place';
import { type Pace, Player } from './player';
import type { Session } from './session';

export class Transport {
  private player: Player | null = null;
  /** The view that plays waits for records that are on their way. */
  private isHeld = false;

  constructor(private readonly session: Session) {}

  /** Does a view that plays wait, for longer than a moment? */
  get stalled(): boolean {
    return this.player?.stalled ?? false;
  }

  /** Where the view is, or is on its way to. */
  private get place(): Place {
    const { session } = this;
    const { fold, mode, navigator } = session;
    if (mode !== 'follow' && navigator.goal !== null) return navigator.goal;
    return fold.rest > 0 ? { step: fold.step, operation: fold.op - 1 } : whole(fold.step);
  }

  /** The last operation that is applied behind a whole step. */
  private lastOperationOf(step: number): number {
    const { fold, series, table } = this.session;
    const next = series.get('op', step + 1);
    if (!Number.isNaN(next)) return next - 1;
    return fold.step === step ? fold.op + fold.rest - 1 : table.lastOp;
  }

  // -- going somewhere ----------------------------------------------------------------------------------------------

  seek(step: number): void {
    this.go({ kind: 'step', step });
  }

  go(to: Destination): void {
    this.pause();
    this.send(placeOf(to, this.session.series));
  }

  private send({ step, operation }: Place): void {
    const { session } = this;
    const last = Math.max(0, session.lastStep);
    const first = session.firstStep;
    session.navigator.go(step > last ? whole(last) : step < first ? whole(first) : { step, operation });
    session.history.focus = session.navigator.fold.record;
  }

  /** Go on or back by steps. From within a step its end is one step on. */
  by(steps: number): void {
    const { step, operation } = this.place;
    this.seek(step + steps - (operation !== null && steps > 0 ? 1 : 0));
  }

  /** Go on or back by operations, across the ends of steps. */
  byOperations(operations: number): void {
    const { step, operation } = this.place;
    const behind = operation ?? this.lastOperationOf(step);
    // Where the step has applied none, its beginning is left for the end of an earlier step.
    const isNone = behind < this.session.series.get('op', step);
    const to = behind + operations + (isNone && operations < 0 ? 1 : 0);
    this.go({ kind: 'operation', operation: Math.max(-1, to), ...(to < 0 ? { step: 0 } : {}) });
  }

  /** Go to the nearest landmark of a kind, from the view or from a step. */
  async toLandmark(kind: LandmarkKind | 'any', direction: 1 | -1, from: number | null): Promise<void> {
    const { session } = this;
    this.pause();
    const { step, operation } = this.place;
    // From within a step its own landmark may be the next one.
    const start = from ?? step - (operation !== null && direction > 0 ? 1 : 0);
    const found = await session.landmarks.find(kind, start, direction);
    if (found !== null) this.seek(found);
    else session.say({ kind: 'noLandmark', of: kind, direction });
  }

  /** Stand where the view is, or is on its way to, should it move by itself. */
  pause(): void {
    const { session } = this;
    this.player = null;
    session.notice = null;
    if (session.mode !== 'at') session.pause();
  }

  // -- playing ------------------------------------------------------------------------------------------------------

  /** Decided here: a key that follows another at once is meant for what that one makes of the view, drawn or not. */
  playOrPause(pace: Pace): void {
    if (this.session.mode === 'at') this.play(pace);
    else this.pause();
  }

  setPace(pace: Pace): void {
    if (this.session.mode === 'play') this.play(pace);
  }

  /** Go on from here at a pace. */
  private play(pace: Pace): void {
    const { session } = this;
    if (session.mode === 'follow') return;
    const { fold, series, navigator } = session;
    session.notice = null;
    let from = { step: fold.step, operation: fold.op - 1, time: fold.time };
    if (session.head.link === 'replay' && fold.step >= session.lastStep && fold.rest === 0) {
      // Nothing comes after the end: from the beginning.
      const step = session.firstStep;
      const operation = (series.get('op', step) || 0) - 1;
      from = { step, operation, time: series.get('time', step) || 0 };
      navigator.go(pace.kind === 'operations' ? { step, operation } : whole(step));
    }
    session.mode = 'play';
    this.isHeld = false;
    this.player = new Player(series, pace, from, performance.now());
    session.changed();
  }

  /** Send a view that plays to where it should be now. True while it plays. */
  advance(): boolean {
    const { player, session } = this;
    if (player === null || session.mode !== 'play') return false;
    const { navigator, series, lastStep } = session;
    const { stalled } = player;
    const wanted = player.next(performance.now(), !navigator.moving && !this.isHeld);
    if (player.stalled !== stalled) session.changed();
    const { beside } = navigator;
    void beside.ahead(series.get('record', Math.min(player.ahead + 1, lastStep)));
    // No further than what is here, while more is on its way: so no record is passed over.
    const { halt } = beside;
    this.isHeld = halt !== null && series.get('record', Math.min(wanted.step, lastStep)) > halt;
    if (!this.isHeld && this.isEnd(wanted)) {
      this.player = null;
      if (session.head.link === 'replay') {
        session.mode = 'at';
        this.send(whole(lastStep));
      } else session.toLiveEnd();
      return false;
    }
    const place = this.isHeld ? whole(series.last('record', halt!)) : wanted;
    const { step, operation } = this.place;
    const isWithin = place.step === step && operation !== null;
    if (place.step > step || (isWithin && (place.operation ?? Number.POSITIVE_INFINITY) > operation)) {
      navigator.go(place);
    }
    return true;
  }

  private isEnd({ step, operation }: Place): boolean {
    const { lastStep } = this.session;
    if (operation === null) return step >= lastStep;
    return operation >= this.lastOperationOf(lastStep);
  }
}
