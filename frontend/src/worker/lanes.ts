/**
 * The lanes of requests that the timeline shows, of the steps that it shows: from what came at the live end, and for the rest
 * from the server, which is asked for what is missing once the reader has stopped moving.
 *
 *     asked for   ├───────────────────────────────┤
 *     live                          ├──────────────────▶
 *     told        ├────────┤ ├──────┤                      what lies between is lost, or on its way: said, never guessed
 */

import type { AnyRecord } from '../ledger/fold';
import { type Range, Ranges } from '../ledger/ranges';
import type { RequestMemory } from '../ledger/requests';
import type { Requests } from './source';
import { type LaneState, LaneWalk, type Stretch } from './stretches';

/** So many steps have lanes from their decisions, at most: of more (`wideLanes.ts`), no step would be as wide as a pixel. */
export const MOST_STEPS = 4096;
/** Steps that are asked for at once. */
const PORTION = 512;
/** Stretches that are kept, of each kind; those that are farthest from what is shown go first. */
const MOST_KEPT = 64;
/** ms that the reader stays with a part before it is asked for. */
const RESTS = 120;
/** ms after which a server that did not answer is asked again. */
const PAUSE = 3000;

export interface LaneRow {
  readonly request: number;
  /** null: it was not told. */
  readonly name: string | null;
  /** As far as they are known here. */
  readonly sequences: readonly number[];
  /** From a step (included), to a step (excluded), and the state between: three numbers each. */
  readonly spans: readonly number[];
  /** A step, and how many tokens of its prefill were computed there. */
  readonly chunks: readonly number[];
  /** How it left the engine, and in which step. */
  readonly end: { readonly step: number; readonly how: 'finished' | 'aborted' | 'refused' } | null;
}

/** The states in {@link LaneRow.spans}, by their numbers. Mixed: it ran, and was preempted at times. */
export const SPAN_STATES = ['waiting', 'running', 'preempted', 'mixed'] as const;

export interface LanesAnswer {
  readonly from: number;
  /** Excluded. */
  readonly to: number;
  /**
   * Those that are in the engine where the view is, then those that come later, each by arrival, then those that ended before,
   * the last one first. The selected request is the first where it would not be among the rows.
   */
  readonly rows: readonly LaneRow[];
  /** Which of all it is that the first row shows, and how many there are. */
  readonly offset: number;
  readonly total: number;
  /** From a step (included) to a step (excluded): what is not known there. */
  readonly holes: readonly number[];
  /** Is what is not known on its way? */
  readonly isLoading: boolean;
}

export interface LanesQuery {
  readonly from: number;
  /** Excluded. */
  readonly to: number;
  readonly count: number;
  readonly at: number;
  readonly offset: number;
  readonly selected: number | null;
}

export class Lanes {
  /** Grows with every change. */
  version = 0;
  private told: Stretch[] = [];
  private readonly live = new LaneWalk(0, Number.POSITIVE_INFINITY);
  private readonly names = new Map<number, string>();
  /** Steps that the server has looked at. */
  private readonly asked = new Ranges();
  private wanted: Range | null = null;
  private isAsking = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(
    private readonly requests: Pick<Requests, 'lanes'>,
    private readonly memory: RequestMemory,
    private readonly changed: () => void,
    /** Somebody waits for something else. */
    private readonly isBusy: () => boolean,
  ) {}

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** What came at the live end; `loaded`: a state in place of what was known. */
  follow(record: AnyRecord, loaded: boolean): void {
    if (loaded) this.live.forget();
    this.live.follow(record);
    const { stretches } = this.live;
    if (stretches.length > MOST_KEPT) stretches.splice(0, stretches.length - MOST_KEPT);
    this.version++;
  }

  /** Steps that were seen are no more: all is asked for again. */
  forget(): void {
    this.told = [];
    this.live.stretches.length = 0;
    this.live.forget();
    this.asked.list.length = 0;
    this.version++;
  }

  /** All that is known, by steps. The live end has what the server would tell too. */
  private get known(): Stretch[] {
    return [...this.told, ...this.live.stretches].sort((a, b) => a.first - b.first);
  }

  /** Runs of steps from `from` to `to` (excluded) of which nothing is known. */
  private holes(from: number, to: number): Range[] {
    const found: Range[] = [];
    let next = from;
    for (const { first, last } of this.known) {
      if (last < next) continue;
      if (first >= to) break;
      if (first > next) found.push({ first: next, last: first - 1 });
      next = last + 1;
    }
    if (next < to) found.push({ first: next, last: to - 1 });
    return found;
  }

  /** The first steps of a part that are neither known nor lost. */
  private missing({ first, last }: Range): Range | null {
    for (const hole of this.holes(first, last + 1)) {
      let at = hole.first;
      for (const lost of this.asked.list) if (lost.first <= at && lost.last >= at) at = lost.last + 1;
      const next = this.asked.list.find((each) => each.first > at)?.first ?? Number.POSITIVE_INFINITY;
      const end = Math.min(hole.last, next - 1, at + PORTION - 1);
      if (at <= end) return { first: at, last: end };
    }
    return null;
  }

  /** The steps `from` to `to` (excluded) are looked at. */
  look(from: number, to: number): void {
    const { wanted } = this;
    if (wanted !== null && wanted.first === from && wanted.last === to - 1) return;
    this.wanted = { first: from, last: to - 1 };
    this.askSoon(RESTS);
  }

  private askSoon(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), ms);
  }

  private async ask(): Promise<void> {
    const part = this.wanted === null ? null : this.missing(this.wanted);
    if (part === null || this.isAsking || this.closed) return;
    if (this.isBusy()) {
      this.askSoon(RESTS);
      return;
    }
    this.isAsking = true;
    let isTold = false;
    try {
      const { through, stretches, names } = await this.requests.lanes(part.first, part.last);
      this.told.push(...stretches);
      for (const [request, name] of Object.entries(names)) this.names.set(Number(request), name);
      isTold = through >= part.first;
      if (isTold) this.asked.add(part.first, Math.min(part.last, through));
      this.keepNear();
    } catch {
      // Asked again below; what is missing is seen on the page.
    }
    this.isAsking = false;
    if (this.closed) return;
    this.version++;
    this.changed();
    if (isTold) void this.ask();
    else this.askSoon(PAUSE);
  }

  private keepNear(): void {
    const { told, wanted } = this;
    if (told.length <= MOST_KEPT || wanted === null) return;
    const far = ({ first, last }: Range): number => Math.max(wanted.first - last, first - wanted.last, 0);
    told.sort((a, b) => far(a) - far(b));
    for (const { first, last } of told.splice(MOST_KEPT)) {
      const others = [
        { first: 0, last: first - 1 },
        { first: last + 1, last: Number.POSITIVE_INFINITY },
      ];
      this.asked.keep(others);
    }
  }

  /**
   * At most `count` rows of the steps `from` to `to` (excluded), from the row `offset` on; the view is at the step `at`.
   */
  answer({ from, to, count, at, offset, selected }: LanesQuery): LanesAnswer {
    const none = { rows: [], offset: 0, total: 0, holes: [], isLoading: false };
    const nothing = { from, to, ...none };
    if (to <= from) return nothing;
    this.look(from, to);
    const drawing = new Drawing(from, to);
    for (const stretch of this.known) if (stretch.last >= from && stretch.first < to) drawing.add(stretch);
    const all = drawing.orderedAt(at);
    const first = Math.max(0, Math.min(offset, all.length - count));
    const shown = all.slice(first, first + count);
    if (selected !== null && count > 0 && drawing.lanes.has(selected) && !shown.includes(selected)) {
      if (shown.length === count) shown.pop();
      shown.unshift(selected);
    }
    const sequences = this.sequencesOf(shown);
    const rows = shown.map((request): LaneRow => {
      const { spans, chunks, end } = drawing.lanes.get(request)!;
      const name = this.memory.facts.get(request)?.name ?? this.nameOf(request);
      return { request, name, sequences: sequences.get(request) ?? [], spans, chunks, end };
    });
    const holes = this.holes(from, to).flatMap((hole) => [hole.first, hole.last + 1]);
    const isLoading = this.missing({ first: from, last: to - 1 }) !== null;
    return { ...nothing, rows, offset: first, total: all.length, holes, isLoading };
  }

  private nameOf(request: number): string | null {
    return this.names.get(request) ?? this.live.names.get(request) ?? null;
  }

  private sequencesOf(requests: readonly number[]): Map<number, number[]> {
    const found = new Map<number, number[]>(requests.map((request) => [request, []]));
    for (const [sequence, { request }] of this.memory.sequences) found.get(request)?.push(sequence);
    return found;
  }
}

interface Lane {
  readonly spans: number[];
  readonly chunks: number[];
  end: LaneRow['end'];
}

/** The states of all requests in a part, put together from stretches in their order. */
class Drawing {
  readonly lanes = new Map<number, Lane>();

  constructor(
    private readonly from: number,
    private readonly to: number,
  ) {}

  /** The requests: those that are there in a step, those that come later, and those that ended. */
  orderedAt(step: number): number[] {
    const groups: number[][] = [[], [], []];
    for (const [request, { spans, end }] of this.lanes) {
      const first = spans[0] ?? end?.step ?? 0;
      const isOver = (spans.at(-2) ?? first) <= step;
      groups[first > step ? 1 : isOver ? 2 : 0]!.push(request);
    }
    for (const group of groups) group.sort((a, b) => a - b);
    return [...groups[0]!, ...groups[1]!, ...groups[2]!.reverse()];
  }

  private lane(request: number): Lane {
    let found = this.lanes.get(request);
    if (found === undefined) {
      found = { spans: [], chunks: [], end: null };
      this.lanes.set(request, found);
    }
    return found;
  }

  private span(request: number, since: number, until: number, state: LaneState): void {
    const from = Math.max(since, this.from);
    const to = Math.min(until, this.to);
    const code = SPAN_STATES.indexOf(state as (typeof SPAN_STATES)[number]);
    if (from >= to || code < 0) return;
    const { spans } = this.lane(request);
    // It goes on where the stretch before it ended.
    if (spans.at(-2) === from && spans.at(-1) === code) spans[spans.length - 2] = to;
    else spans.push(from, to, code);
  }

  add({ first, last, start, changes, chunks }: Stretch): void {
    const now = new Map<number, { state: LaneState; since: number }>();
    for (const [i, request] of start.request.entries())
      now.set(request, { state: start.state[i]!, since: first });
    for (const [i, step] of changes.step.entries()) {
      if (step >= this.to) break;
      const request = changes.request[i]!;
      const state = changes.state[i]!;
      const before = now.get(request);
      if (state === 'finished' || state === 'aborted' || state === 'refused') {
        // In the step that it ends in it was there still.
        if (before !== undefined) this.span(request, before.since, step + 1, before.state);
        now.delete(request);
        if (step >= this.from) this.lane(request).end = { step, how: state };
      } else {
        if (before !== undefined) this.span(request, before.since, step, before.state);
        now.set(request, { state, since: step });
      }
    }
    for (const [request, { state, since }] of now) this.span(request, since, last + 1, state);
    for (const [i, step] of chunks.step.entries()) {
      if (step >= this.from && step < this.to)
        this.lane(chunks.request[i]!).chunks.push(step, chunks.tokens[i]!);
    }
  }
}
