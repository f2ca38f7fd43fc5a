/**
 * The part of a session that this page holds: frames in bounded memory, and states to come back to.
 *
 * Frames lie in *ranges* of records without a gap. Moving inside a range needs no request: a fold goes forwards, or
 * backwards by undoing, or starts from the nearest kept state. When the bound is reached, what is farthest from where
 * the reader looks goes first.
 */

import { LARGE } from '../ledger/kernels';
import { peekFrame } from '../ledger/peek';
import { type Range, Ranges } from '../ledger/ranges';
import type { FoldSnapshot } from '../ledger/snapshot';
import { Bases } from './bases';

export interface Bounds {
  readonly frameBytes: number;
  readonly snapshotBytes: number;
  readonly baseBytes: number;
}

const DEFAULT: Bounds = { frameBytes: 64 << 20, snapshotBytes: 128 << 20, baseBytes: 0 };
/** A state of a large pool is as large as three bases, and comes by way of one in no more time than it took to keep it. */
const OF_LARGE: Bounds = { frameBytes: 64 << 20, snapshotBytes: 32 << 20, baseBytes: 96 << 20 };

/** What is kept of a session: bases only where whoever is asked tells what changed since one, and that is worth it. */
export function boundsOf(numBlocks: number, hasBases: boolean): Bounds {
  return hasBases && numBlocks >= LARGE ? OF_LARGE : DEFAULT;
}

export class History {
  private readonly frames = new Map<number, Uint8Array>();
  private readonly held = new Ranges();
  bytes = 0;
  private readonly snapshots = new Map<number, FoldSnapshot>();
  private snapshotBytes = 0;
  readonly bases: Bases;
  /** Keep what lies near this record. */
  focus = 0;
  /** The live end, kept as well while following. */
  head = 0;

  constructor(private readonly bounds: Bounds = DEFAULT) {
    this.bases = new Bases(bounds.baseBytes);
  }

  /** The records that are there. */
  get ranges(): Range[] {
    return this.held.list;
  }

  get(record: number): Uint8Array | undefined {
    return this.frames.get(record);
  }

  /** Keep a frame; one that is there already stays. */
  add(record: number, frame: Uint8Array): void {
    if (this.frames.has(record)) return;
    this.frames.set(record, frame);
    this.bytes += frame.length;
    this.held.add(record);
    if (this.bytes > this.bounds.frameBytes) this.shrink();
  }

  /** Keep packed frames, keyframes that a follower made left out: they bear the number of another record. */
  addAll(frames: readonly Uint8Array[]): void {
    for (const frame of frames) {
      const { record } = peekFrame(frame);
      // A copy: a view of a large answer would keep all of it alive.
      if (record !== null) this.add(record, frame.slice());
    }
  }

  /** The range that holds a record, or that ends right before it. */
  rangeAt(record: number): Range | undefined {
    return this.held.at(record);
  }

  /** Are all of the records after `from` up to and with `to` there? */
  holds(from: number, to: number): boolean {
    return this.held.holds(from, to);
  }

  /** Forget what comes after a record. */
  truncate(last: number): void {
    for (const record of [...this.frames.keys()]) if (record > last) this.drop(record);
    for (const record of [...this.snapshots.keys()]) if (record > last) this.dropSnapshot(record);
    this.bases.truncate(last);
    while ((this.ranges.at(-1)?.first ?? -1) > last) this.ranges.pop();
    const range = this.ranges.at(-1);
    if (range !== undefined) range.last = Math.min(range.last, last);
    this.head = Math.min(this.head, last);
  }

  private drop(record: number): void {
    this.bytes -= this.frames.get(record)?.length ?? 0;
    this.frames.delete(record);
  }

  /** How far a record is from where somebody looks. */
  private distance(record: number): number {
    return Math.min(Math.abs(record - this.focus), Math.abs(record - this.head));
  }

  /** Drop frames, a quarter of the bound at once, from the end of a range that is farthest from where somebody looks. */
  private shrink(): void {
    const goal = this.bounds.frameBytes * 0.75;
    while (this.bytes > goal) {
      this.cutBetween();
      let best: { range: Range; atStart: boolean; far: number } | null = null;
      for (const range of this.ranges) {
        for (const atStart of [true, false]) {
          const far = this.distance(atStart ? range.first : range.last);
          if (best === null || far > best.far) best = { range, atStart, far };
        }
      }
      if (best === null) return;
      const { range, atStart } = best;
      this.drop(atStart ? range.first++ : range.last--);
      if (range.first > range.last) this.ranges.splice(this.ranges.indexOf(range), 1);
    }
    for (const record of this.snapshots.keys()) {
      if (this.rangeAt(record) === undefined) this.dropSnapshot(record);
    }
  }

  /** What lies half way between reader and live end is farther than the ends of the one range that holds both. */
  private cutBetween(): void {
    const middle = Math.floor((this.focus + this.head) / 2);
    const i = this.ranges.findIndex((range) => range.first < middle && range.last > middle);
    const range = this.ranges[i];
    if (range === undefined) return;
    const far = this.distance(middle);
    if (this.ranges.some((each) => this.distance(each.first) > far || this.distance(each.last) > far)) return;
    this.drop(middle);
    this.ranges.splice(
      i,
      1,
      { first: range.first, last: middle - 1 },
      { first: middle + 1, last: range.last },
    );
  }

  // -- states -------------------------------------------------------------------------------------------------------

  hasSnapshot(record: number): boolean {
    return this.snapshots.has(record);
  }

  /** Is a state of so many bytes kept at all? */
  hasRoomFor(bytes: number): boolean {
    return bytes <= this.bounds.snapshotBytes / 2;
  }

  /** Keep a state; past the bound every second one goes, and the oldest half when they are few. */
  addSnapshot(snapshot: FoldSnapshot): void {
    if (!this.hasRoomFor(snapshot.bytes)) return;
    this.dropSnapshot(snapshot.record);
    this.snapshots.set(snapshot.record, snapshot);
    this.snapshotBytes += snapshot.bytes;
    if (this.snapshotBytes <= this.bounds.snapshotBytes) return;
    const records = [...this.snapshots.keys()].sort((a, b) => a - b);
    for (let i = 1; i < records.length; i += 2) {
      if (records[i] !== snapshot.record) this.dropSnapshot(records[i]!);
    }
  }

  private dropSnapshot(record: number): void {
    const snapshot = this.snapshots.get(record);
    if (snapshot === undefined) return;
    this.snapshots.delete(record);
    this.snapshotBytes -= snapshot.bytes;
  }

  /** The last kept state at or before a record from which all frames up to it are there. */
  snapshotBefore(record: number): FoldSnapshot | undefined {
    let best: FoldSnapshot | undefined;
    for (const [at, snapshot] of this.snapshots) {
      if (at <= record && (best === undefined || at > best.record) && this.holds(at, record)) best = snapshot;
    }
    return best;
  }
}
