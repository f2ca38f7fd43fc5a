/**
 * Reads the loaded history for the rows that meet a filter: backwards from the view until enough are found, and
 * forwards as the view moves. Done in slices while there is nothing else to do, so it never delays a fold.
 */

import type { Filter } from '../filter/filter';
import { type Candidate, matcher } from '../filter/match';
import { printFilter } from '../filter/print';
import type { Fold } from '../ledger/fold';
import { isRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import type { RequestMemory } from '../ledger/requests';
import { type EventList, type EventRow, rowsOf } from './answers/events';
import type { History } from './history';

const MAX_ROWS = 6000;

export class Scan {
  private rows: EventRow[] = [];
  /** The records that were looked at, both included; empty when `low` > `high`. */
  private low = 0;
  private high = -1;
  private fromStep = 0;
  private firstLoaded = false;
  private learned = false;
  private isWanted: (event: Candidate) => boolean;
  changed = true;

  constructor(
    private readonly history: History,
    private readonly memory: RequestMemory,
    public filter: Filter,
    /** How many rows before and after the present position are wanted. */
    private readonly before: number,
    private readonly after: number,
  ) {
    this.isWanted = this.matching(filter);
  }

  private matching(filter: Filter): (event: Candidate) => boolean {
    const { sequences, facts } = this.memory;
    const known = {
      sequence: (sequence: number) => sequences.get(sequence),
      name: (request: number) => facts.get(request)?.name,
      hash: () => undefined,
    };
    // What is listed beside a block or a request asks for no times, and no hashes.
    return matcher(filter, known, { startUtcUs: 0, zone: 0 });
  }

  /** Look for something else. */
  look(filter: Filter): void {
    if (printFilter(filter) === printFilter(this.filter)) return;
    this.filter = filter;
    this.isWanted = this.matching(filter);
    this.reset(0);
  }

  private reset(record: number): void {
    this.rows = [];
    this.low = record + 1;
    this.high = record;
    this.firstLoaded = false;
    this.changed = true;
  }

  /** Go on for a while; true when there is more to look at. */
  work(fold: Fold, deadline: number): boolean {
    if (!fold.loaded) return false;
    const at = fold.record;
    const far =
      this.high < this.low ||
      at < this.low - 1 ||
      at > this.high + 64 ||
      !this.history.holds(this.low - 1, this.high);
    if (far) this.reset(at);
    // Earlier records may have been loaded since.
    else if (this.firstLoaded && this.history.get(this.low - 1) !== undefined) this.firstLoaded = false;
    do {
      const behind = this.indexAfter(fold);
      if (
        this.high < at ||
        (this.rows.length - behind < this.after && this.history.get(this.high + 1) !== undefined)
      ) {
        if (!this.read(this.high + 1, false)) return false;
      } else if (behind < this.before && !this.firstLoaded) {
        if (!this.read(this.low - 1, true)) {
          this.firstLoaded = true;
          this.changed = true;
        }
      } else return this.again();
    } while (performance.now() < deadline);
    return true;
  }

  /** Sequences were learned on the way back, and rows named after them were passed: read once more. */
  private again(): boolean {
    if (!this.learned) return false;
    this.learned = false;
    this.high = this.low - 1;
    return true;
  }

  private read(record: number, backwards: boolean): boolean {
    const frame = this.history.get(record);
    if (frame === undefined) return false;
    let rows: EventRow[] = [];
    try {
      const opened = openFrame(frame);
      if (isRecord(opened) && opened.type === 'step') {
        // A request is known by its sequences: what was passed by before may be of it.
        if (this.memory.meet(opened)) this.learned = true;
        rows = rowsOf(opened, this.isWanted, this.memory);
        if (backwards || this.rows.length === 0) this.fromStep = opened.step;
      }
    } catch {
      // What can't be read is the fold's to report.
    }
    if (backwards) {
      this.low = record;
      if (rows.length > 0) this.rows = rows.concat(this.rows);
    } else {
      this.high = record;
      if (rows.length > 0) this.rows.push(...rows);
      if (this.rows.length > MAX_ROWS) {
        this.rows = this.rows.slice(MAX_ROWS / 2);
        this.fromStep = this.rows[0]!.step;
        this.firstLoaded = true;
      }
    }
    if (rows.length > 0) this.changed = true;
    return true;
  }

  /** How many rows hold at the fold's place. */
  private indexAfter({ step, op, rest }: Pick<Fold, 'step' | 'op' | 'rest'>): number {
    const holds = (row: EventRow): boolean =>
      row.step < step ||
      (row.step === step && (rest === 0 || (typeof row.kind === 'number' ? row.op < op : row.op <= op)));
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.rows[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The nearest step with a row, after or before the present one; null: none was found. */
  change(fold: Fold, direction: 1 | -1): number | null {
    const before = { step: fold.step - 1, op: 0, rest: 0 };
    const index = direction > 0 ? this.indexAfter(fold) : this.indexAfter(before) - 1;
    return this.rows[index]?.step ?? null;
  }

  /** What was found around the present position. */
  answer(fold: Fold): EventList {
    this.changed = false;
    const now = this.indexAfter(fold);
    const from = Math.max(0, now - this.before);
    return {
      rows: this.rows.slice(from, now + this.after).map((row) => this.named(row)),
      now: now - from,
      fromStep: from > 0 ? this.rows[from]!.step : this.fromStep,
      complete: from === 0 && this.firstLoaded,
    };
  }

  /** Whether a request has several sequences may have been learned since, on the way back to its beginning. */
  private named(row: EventRow): EventRow {
    if (!this.memory.knows(row.sequence)) return row;
    const label = this.memory.label(row.sequence);
    return label === row.label ? row : { ...row, label };
  }
}
