/**
 * Where something happened that one may look for: the kinds of the server's `GET …/landmarks`.
 *
 * What the table of steps counts (evictions, copies, preemptions) is found there, at the live end too. The rest is rare: the
 * server lists it, and what comes at the live end is added.
 */

import type { AnyRecord } from '../ledger/fold';
import type { Series } from './series';
import type { Requests } from './source';

/** Counted a step by the table of steps; listed one by one. */
export const COUNTED = ['evict', 'copy', 'preempted'] as const;
export const LISTED = ['refused', 'violation', 'gap', 'note'] as const;
export const LANDMARK_KINDS = [...COUNTED, ...LISTED] as const;
export type ListedKind = (typeof LISTED)[number];
export type LandmarkKind = (typeof LANDMARK_KINDS)[number];

export interface Landmark {
  readonly step: number;
  readonly record: number;
  readonly kind: ListedKind;
  readonly count: number;
  readonly message: string | null;
}

/** What the server tells: its list, and up to which record that goes; null: none is indexed yet. */
export interface ToldLandmarks {
  readonly landmarks: readonly Landmark[];
  readonly indexed_record: number | null;
}

/** ms for which the server's list is taken as it is. */
const FRESH = 3000;
/** ms until the server is asked again for what was not indexed yet. */
const PAUSE = 1000;
/** As many as can be told apart on a timeline. */
const MOST_SHOWN = 400;

const isCounted = (kind: LandmarkKind): kind is (typeof COUNTED)[number] =>
  (COUNTED as readonly string[]).includes(kind);

export class Landmarks {
  /** By step. */
  private list: Landmark[] = [];
  /** Grows with every change of the list. */
  version = 0;
  private loaded = Number.NEGATIVE_INFINITY;
  /** The last record that came at the live end, and the last one that did not, as it was before this page or skipped. */
  private heard = -1;
  private missed = -1;
  private again: ReturnType<typeof setTimeout> | null = null;
  private closed = false;

  constructor(
    private readonly series: Series,
    private readonly requests: Pick<Requests, 'landmarks'>,
    private readonly changed: () => void,
  ) {}

  /** Ask the server, unless it was asked a moment ago. Those that only this page knows so far stay. */
  async load(): Promise<void> {
    const now = performance.now();
    if (now - this.loaded < FRESH) return;
    this.loaded = now;
    try {
      const { landmarks, indexed_record } = await this.requests.landmarks(LISTED);
      const known = this.list;
      this.list = [...landmarks];
      for (const each of known) this.add(each);
      this.list.sort((a, b) => a.step - b.step || a.record - b.record);
      this.version++;
      if ((indexed_record ?? -1) >= this.missed) this.missed = -1;
      else this.askAgain();
      this.changed();
    } catch {
      // Asked again when somebody looks for one.
      this.loaded = Number.NEGATIVE_INFINITY;
    }
  }

  /** What did not come here is told by the server, once its index goes so far. */
  private askAgain(): void {
    if (this.again !== null || this.closed) return;
    this.again = setTimeout(() => {
      this.again = null;
      if (this.closed || this.missed < 0) return;
      this.loaded = Number.NEGATIVE_INFINITY;
      void this.load();
    }, PAUSE);
  }

  close(): void {
    this.closed = true;
    if (this.again !== null) clearTimeout(this.again);
  }

  private add(landmark: Landmark): void {
    const { record, kind } = landmark;
    if (this.list.some((each) => each.record === record && each.kind === kind)) return;
    this.list.push(landmark);
    this.version++;
  }

  /** What came at the live end, behind step `step`. */
  note(record: AnyRecord, step: number): void {
    if (record.record > this.heard + 1) {
      // A keyframe stands for all up to it.
      this.missed = record.type === 'keyframe' ? record.record : record.record - 1;
      this.askAgain();
    }
    this.heard = Math.max(this.heard, record.record);
    const add = (kind: ListedKind, count: number, message: string | null): void =>
      this.add({ step, record: record.record, kind, count, message });
    if (record.type === 'gap') add('gap', record.last - record.first + 1, record.reason);
    else if (record.type === 'note') add('note', 1, record.text);
    else if (record.type === 'step') {
      const refused = (record.decisions ?? []).filter((decision) => decision.kind === 'refused');
      if (refused.length > 0) add('refused', refused.length, null);
    }
  }

  /** Forget what lies behind a step. */
  truncate(lastStep: number): void {
    this.list = this.list.filter(({ step }) => step <= lastStep);
    this.version++;
  }

  /** The nearest step after (or before) `step` with a landmark of a kind; null: there is none. */
  async find(kind: LandmarkKind | 'any', step: number, direction: 1 | -1): Promise<number | null> {
    if (!(kind !== 'any' && isCounted(kind))) await this.load();
    const wanted = LANDMARK_KINDS.filter((each) => kind === 'any' || each === kind);
    const listed = this.list.filter(
      (each) => wanted.includes(each.kind) && (each.step - step) * direction > 0,
    );
    let best = (direction > 0 ? listed[0] : listed.at(-1))?.step ?? null;
    const end = best ?? (direction > 0 ? this.series.length : -1);
    const counted = wanted.filter(isCounted);
    for (let at = step + direction; (end - at) * direction > 0; at += direction) {
      if (!counted.some((each) => this.series.get(each, at) > 0)) continue;
      best = at;
      break;
    }
    return best;
  }

  /** Is there a gap behind a record and before a step, or before the step that was sealed at a time? */
  isLost(from: number, to: { readonly step: number } | { readonly time: number }): boolean {
    const end = 'step' in to ? to.step : this.series.last('time', to.time);
    return this.list.some(({ kind, record, step }) => kind === 'gap' && record > from && step < end);
  }

  /** All of a kind that is listed, by their steps. */
  ofKind(kind: ListedKind): readonly Landmark[] {
    return this.list.filter((each) => each.kind === kind);
  }

  /** Those that are listed of the steps from `from` (included) to `to` (excluded). */
  between(from: number, to: number): readonly Landmark[] {
    const found = this.list.filter(({ step }) => step >= from - 1 && step < to);
    const every = Math.ceil(found.length / MOST_SHOWN);
    return every > 1 ? found.filter((_, i) => i % every === 0) : found;
  }
}
