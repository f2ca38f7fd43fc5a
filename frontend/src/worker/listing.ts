/**
 * The list of events around a place of the session, however long that is: a window that is found on demand, and bounded.
 *
 *     begin ····················· low ▐ rows that meet the filter ▌ high ···················· end
 *                              ◀── found as the reader comes near ──▶
 *
 * What the page holds is read here, from the view on, where it is known whose each sequence is and which life of its block it is;
 * the rest is searched by the server, which says how far it got. The latest wish wins.
 */

import type { Filter } from '../filter/filter';
import { grounded } from '../filter/ground';
import { type Candidate, type Known, matcher, tellsGap } from '../filter/match';
import type { Origin } from '../filter/moment';
import { printFilter } from '../filter/print';
import { type Fold, isRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import { NONE } from '../ledger/generated/constants';
import type { Step } from '../ledger/generated/types';
import type { RequestMemory } from '../ledger/requests';
import { type EventRow, lostRow, passBack, rowsOf } from './answers/events';
import { comparePlaces, type Direction, type EventPlace } from './eventPage';
import type { History } from './history';
import { Lives } from './lives';
import type { Series } from './series';
import type { Requests } from './source';

/** So many rows are kept. */
const MOST_ROWS = 6000;
const PAGE = 200;
/** ms after which what is behind the end is asked for again, where nothing of it can be read here. */
const AGAIN_MS = 500;
/** The view may run ahead of what was read by this many records, which are then read after it. */
const MOST_BEHIND = 400;

/** What of the list is wanted: around an operation or an event, or (null) around the view, as it moves. */
export interface ListingWish {
  readonly filter: Filter;
  readonly at: EventPlace | { readonly op: number } | null;
  readonly before: number;
  readonly after: number;
}

export interface ListingAnswer {
  readonly rows: readonly EventRow[];
  /** The index of the first row that lies after the view, and of the first one at the place that was wished for. */
  readonly now: number;
  readonly at: number;
  /** Is the first row the first of all, and the last one the last? */
  readonly begins: boolean;
  readonly ends: boolean;
  /** More is being looked for; so far between these steps. */
  readonly looking: boolean;
  readonly fromStep: number;
  readonly toStep: number;
  /** Why the rest can't be had; null: it can. */
  readonly fault: string | null;
  /** How often each operation occurs in the whole session; null: it goes on. */
  readonly counts: Readonly<Partial<Record<string, number>>> | null;
  /** The wish that this answers. */
  readonly wish: ListingWish;
}

export class Listing {
  changed = true;
  private rows: EventRow[] = [];
  private low: EventPlace = { record: 0, index: 0 };
  private high: EventPlace = this.low;
  /** Lives of blocks at both ends; null: only the server knows them. */
  private lives: { low: Lives | null; high: Lives | null } = { low: null, high: null };
  private begins = false;
  private pending: Direction | null = null;
  private fault: string | null = null;
  /** Counts the windows that were begun anew: what was asked for an earlier one is of no use. */
  private turn = 0;
  private isEmpty = true;
  private wish: ListingWish = { filter: [], at: null, before: 0, after: 0 };
  private isWanted: (event: Candidate) => boolean = () => true;
  private asked = '';
  /** What it needs is not known here: all of it is asked for. At its end that is done again after a while. */
  private onlyAsked = false;
  private again: ReturnType<typeof setTimeout> | null = null;
  private readonly known: Known;

  constructor(
    private readonly history: History,
    private readonly memory: RequestMemory,
    private readonly series: Series,
    private readonly requests: Pick<Requests, 'events'>,
    private readonly origin: Origin,
    private readonly lastRecord: () => number,
    private readonly wake: () => void,
  ) {
    this.known = {
      sequence: (sequence) => memory.sequences.get(sequence),
      name: (request) => memory.facts.get(request)?.name,
      // They are the server's to know.
      hash: () => undefined,
    };
  }

  look(wish: ListingWish): void {
    const asked = printFilter(wish.filter);
    if (asked !== printFilter(this.wish.filter)) {
      this.isEmpty = true;
      this.isWanted = matcher(wish.filter, this.known, this.origin);
      this.asked = printFilter(grounded(wish.filter, this.origin));
      this.onlyAsked = wish.filter.some(({ field }) => field === 'hash');
    }
    this.fault = null;
    this.wish = wish;
    this.changed = true;
  }

  /** The place that is wished for. */
  private anchor(fold: Fold): EventPlace {
    const { at } = this.wish;
    if (at === null) return { record: fold.record + (fold.rest > 0 ? 0 : 1), index: 0 };
    if (!('op' in at)) return at;
    const step = this.series.last('op', at.op);
    const record = this.series.get('record', step);
    if (Number.isNaN(record)) return { record: fold.record, index: 0 };
    return { record, index: Math.max(0, at.op - this.series.get('op', step)) };
  }

  private begin(fold: Fold, anchor: EventPlace): void {
    this.turn++;
    this.rows = [];
    this.low = this.high = anchor;
    this.begins = false;
    this.pending = null;
    this.fault = null;
    this.isEmpty = false;
    this.changed = true;
    const isHere = anchor.record === fold.record + 1 && anchor.index === 0 && fold.rest === 0;
    const generation = isHere ? fold.blocks.generation.slice() : null;
    this.lives = {
      low: generation && new Lives(generation),
      high: generation && new Lives(generation),
    };
  }

  /** Go on for a while; true when there is more to look at here. */
  work(fold: Fold, deadline: number, isMoving: boolean): boolean {
    if (!fold.loaded || (isMoving && this.wish.at === null)) return false;
    const anchor = this.anchor(fold);
    const isAhead =
      comparePlaces(anchor, this.high) > 0 &&
      (anchor.record - this.high.record > MOST_BEHIND ||
        !this.history.holds(this.high.record - 1, anchor.record - 1));
    if (this.isEmpty || comparePlaces(anchor, this.low) < 0 || isAhead) this.begin(fold, anchor);
    do {
      const at = this.indexOf(anchor);
      const isEnd = this.high.record > this.lastRecord();
      if (!isEnd && (comparePlaces(this.high, anchor) < 0 || this.rows.length - at < this.wish.after)) {
        if (!this.extend('later', fold)) return false;
      } else if (!this.begins && at < this.wish.before) {
        if (!this.extend('earlier', fold)) return false;
      } else return false;
    } while (performance.now() < deadline);
    return true;
  }

  /** Read the next record here, or ask the server for a page; true: there may be more to read here at once. */
  private extend(direction: Direction, fold: Fold): boolean {
    if (this.pending !== null || this.fault !== null) return false;
    if (this.onlyAsked) {
      if (direction === 'later' && this.again !== null) return false;
    } else {
      if (direction === 'later' && this.lives.high === null) this.rejoin(fold);
      if (this.readHere(direction)) return true;
    }
    void this.fetch(direction);
    return false;
  }

  /** What was asked for has come up to records that lead to the view from here: lives are known again, on the way back from it. */
  private rejoin(fold: Fold): void {
    const { record } = this.high;
    const isNear = record <= fold.record && fold.record - record <= MOST_BEHIND && fold.rest === 0;
    if (!isNear || !this.history.holds(record - 1, fold.record)) return;
    const lives = new Lives(fold.blocks.generation.slice());
    for (let at = fold.record; at >= record; at--) {
      const opened = openFrame(this.history.get(at)!);
      if (opened.type === 'gap') return;
      if (opened.type === 'step') passBack(opened, lives);
    }
    this.lives.high = lives;
  }

  private readHere(direction: Direction): boolean {
    const isLater = direction === 'later';
    const lives = isLater ? this.lives.high : this.lives.low;
    const edge = isLater ? this.high : this.low;
    const record = isLater ? edge.record : edge.record - 1;
    const frame = this.history.get(record);
    if (lives === null || frame === undefined || (edge.index > 0 && !isLater)) return false;
    let rows: EventRow[] = [];
    try {
      const opened = openFrame(frame);
      if (!isRecord(opened)) return false;
      if (opened.type === 'step') {
        if (!this.knowsAll(opened)) return false;
        if (!isLater) passBack(opened, lives);
        rows = rowsOf(opened, this.isWanted, this.memory, lives);
        if (isLater && edge.index > 0) rows = rows.filter(({ index }) => index >= edge.index);
        if (!isLater) passBack(opened, lives);
      } else if (opened.type === 'gap') {
        // Behind it nobody knows the lives.
        this.lives = { low: isLater ? this.lives.low : null, high: isLater ? null : this.lives.high };
        if (tellsGap(this.wish.filter, record, opened.time, this.origin))
          rows = [{ ...lostRow(opened), step: this.series.last('record', record) }];
      }
    } catch {
      // What can't be read is the fold's to report.
    }
    this.take(rows, direction, isLater ? { record: record + 1, index: 0 } : { record, index: 0 });
    return true;
  }

  /** Is it known whose all of its sequences are? */
  private knowsAll(step: Step): boolean {
    const { memory } = this;
    memory.meet(step);
    for (const decision of step.decisions ?? [])
      if ('sequence' in decision && !memory.knows(decision.sequence)) return false;
    const told = step.operations?.sequence;
    if (told === undefined) return true;
    const view = new DataView(told.buffer, told.byteOffset, told.byteLength);
    let last = NONE;
    for (let i = 0; i < told.byteLength; i += 4) {
      const sequence = view.getUint32(i, true);
      if (sequence === last || sequence === NONE) continue;
      if (!memory.knows(sequence)) return false;
      last = sequence;
    }
    return true;
  }

  private async fetch(direction: Direction): Promise<void> {
    const isLater = direction === 'later';
    const { turn } = this;
    this.pending = direction;
    this.changed = true;
    try {
      const from = isLater ? this.high : this.low;
      const page = await this.requests.events(
        { filter: this.asked, from, direction, limit: PAGE },
        this.memory,
      );
      if (turn !== this.turn) return;
      if (isLater) this.lives.high = null;
      else this.lives.low = null;
      if (page.next === null && !isLater) this.begins = true;
      if (page.next === null && isLater && this.onlyAsked) {
        this.again = setTimeout(() => {
          this.again = null;
          this.wake();
        }, AGAIN_MS);
      }
      const end = isLater ? { record: this.lastRecord() + 1, index: 0 } : { record: 0, index: 0 };
      this.take(page.rows, direction, page.next ?? end);
    } catch (error) {
      if (turn === this.turn) this.fault = (error as Error).message;
    }
    if (turn === this.turn) {
      this.pending = null;
      this.changed = true;
    }
    this.wake();
  }

  private take(rows: readonly EventRow[], direction: Direction, edge: EventPlace): void {
    if (direction === 'later') {
      this.rows.push(...rows);
      this.high = edge;
      if (this.rows.length > MOST_ROWS) {
        this.rows = this.rows.slice(MOST_ROWS / 2);
        this.low = this.rows[0]!;
        this.lives.low = null;
        this.begins = false;
      }
    } else {
      this.rows = [...rows, ...this.rows];
      this.low = edge;
      if (edge.record === 0) this.begins = true;
      if (this.rows.length > MOST_ROWS) {
        this.high = this.rows[MOST_ROWS / 2]!;
        this.rows = this.rows.slice(0, MOST_ROWS / 2);
        this.lives.high = null;
      }
    }
    if (rows.length > 0) this.changed = true;
  }

  /** The index of the first row at a place or behind it. */
  private indexOf(place: EventPlace): number {
    return this.firstThat((row) => comparePlaces(row, place) >= 0);
  }

  private firstThat(isBehind: (row: EventRow) => boolean): number {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(this.rows[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  answer(fold: Fold, counts: ListingAnswer['counts']): ListingAnswer {
    this.changed = false;
    const { wish, rows, series } = this;
    const { record, op, rest } = fold;
    const now = this.firstThat(
      (row) =>
        row.record > record ||
        (row.record === record && rest > 0 && (typeof row.kind === 'number' ? row.op >= op : row.op > op)),
    );
    const at = wish.at === null ? now : this.indexOf(this.anchor(fold));
    const from = Math.max(0, at - wish.before);
    const to = at + wish.after;
    return {
      rows: rows.slice(from, to),
      now: now - from,
      at: at - from,
      begins: from === 0 && this.begins,
      ends: to >= rows.length && this.high.record > this.lastRecord(),
      looking: this.pending !== null,
      fromStep: series.last('record', this.low.record),
      toStep: series.last('record', this.high.record - 1),
      fault: this.fault,
      counts,
      wish,
    };
  }
}
