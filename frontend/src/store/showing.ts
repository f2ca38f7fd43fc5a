/** Shows views as they come: the picture of each at once, and what stands beside it as there is time for it (`rota.ts`). */

import { batch } from '@preact/signals';
import { afterFrame, inNextFrame } from './frame';
import { Rota } from './rota';

/** Of a view: what is shown together. `has`: does it say anything of it? */
export interface Part<View> {
  has(view: View): boolean;
  show(view: View): void;
}

/** ms between two lists of a view that is moved on and on: nobody reads ten of them a second. */
const LISTS_INTERVAL = 200;

export class Showing<View> {
  /** The newest view of which parts are still to be shown. */
  private waiting: View | null = null;
  private readonly rota = new Rota<Part<View>>();
  /** How many views were shown, and since which of them each part waits. */
  count = 0;
  private readonly since = new Map<Part<View>, number>();
  /** Whoever moves the view waits for its picture, and reads what stands beside it when he has come there. */
  private isMoved = false;
  /** Parts that are shown before there is another pause of {@link LISTS_INTERVAL}. */
  private left = 0;
  private listsShown = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Something was shown in this frame. */
  private hasShown = false;
  /** Another frame for parts was asked for. */
  private isDue = false;

  /** `laidOver`: a view, with what it says nothing of as in the one before; `movedBy`: was it asked for by its reader? */
  constructor(
    private readonly picture: Part<View>,
    private readonly parts: readonly Part<View>[],
    private readonly laidOver: (before: View, view: View) => View,
    private readonly movedBy: (view: View) => boolean,
  ) {}

  /** Is all shown of so many views? What came later may wait. */
  hasShownAll(views: number): boolean {
    return this.count >= views && this.rota.all.every((part) => this.since.get(part)! > views);
  }

  /** Show a view from this frame on: to be called before anything of it is drawn. */
  show(view: View): void {
    const { rota, picture } = this;
    this.isMoved = this.movedBy(view);
    this.waiting = this.waiting === null ? view : this.laidOver(this.waiting, view);
    this.count++;
    const parts = this.parts.filter((part) => part.has(view));
    for (const part of parts) if (!rota.all.includes(part)) this.since.set(part, this.count);
    rota.offer(parts);
    this.showAll([picture, ...(this.isMoved && !this.isDue ? [] : rota.take(picture))]);
  }

  /** Nothing of it is shown any more. */
  forget(): void {
    this.rota.clear();
    this.waiting = null;
    this.left = 0;
    clearTimeout(this.timer);
  }

  private readonly showTurn = (): void => {
    this.isDue = false;
    if (this.rota.isEmpty) return;
    if (this.hasShown) this.askForTurn();
    else this.showAll(this.rota.take(null));
  };

  /** Show these in this frame, and ask for the next one where more is to be shown. */
  private showAll(parts: readonly Part<View>[]): void {
    const view = this.waiting;
    if (view === null) return;
    const began = performance.now();
    batch(() => {
      for (const part of parts) part.show(view);
    });
    const beside = parts.filter((part) => part !== this.picture).length;
    if (beside > 0 && this.left <= 0) {
      this.left = beside + this.rota.all.length;
      this.listsShown = began;
    }
    this.left -= beside;
    if (this.rota.isEmpty) this.waiting = null;
    else this.askForTurn();
    this.hasShown = true;
    // Behind what is drawn by hand, and the document in its microtask.
    afterFrame(() => {
      this.hasShown = false;
      queueMicrotask(() => this.rota.tell(parts, performance.now() - began));
    });
  }

  private askForTurn(): void {
    if (this.isDue) return;
    clearTimeout(this.timer);
    const ms = this.isMoved && this.left <= 0 ? this.listsShown + LISTS_INTERVAL - performance.now() : 0;
    if (ms > 0) this.timer = setTimeout(() => this.askForTurn(), ms);
    else {
      this.isDue = true;
      inNextFrame(this.showTurn);
    }
  }
}
