/** Requests, their sequences, and why those that wait do: what decisions change, forwards and backwards. */

import { ById } from './byId';
import type { Lanes } from './digest';
import { STATE_CODES } from './generated/constants';
import type { Keyframe, Step, Waiting } from './generated/types';
import { type Range, Ranges } from './ranges';
import { factsOf, type RequestFacts } from './requestFacts';

export type Decision = NonNullable<Step['decisions']>[number];
export type RequestStateName = keyof typeof STATE_CODES;

/** What changes of a request that is in the engine. */
export interface RequestRow {
  readonly state: RequestStateName;
  readonly place: number;
}

export interface SequenceRow {
  readonly request: number;
  readonly index: number;
  readonly parent: number | null;
  dropped: boolean;
}

type FailDecision = (message: string) => void;

interface Change {
  request: number;
  state_before?: RequestStateName | null;
  place_before?: number | null;
  state_after?: RequestStateName | null;
  place_after?: number | null;
}

function rowOf(state?: RequestStateName | null, place?: number | null): RequestRow | null {
  return state != null && place != null ? { state, place } : null;
}

const NONE_OF_THEM: readonly never[] = [];

function at(row: RequestRow | null): string {
  return row === null ? 'not in the engine' : `${row.state} at ${row.place}`;
}

/** Why a request waits, and the step that said so. */
export type Reason = Waiting & { readonly step: number };

/** What a request had when it ended. */
interface Ended {
  readonly sequences: readonly [number, SequenceRow][];
  readonly reasons: readonly Reason[];
}

/**
 * What is known of requests and is not undone, so that all folds of a session share it.
 *
 * What undoing may bring back is kept as long as the records are there that can be undone: {@link forget} is told which.
 */
export class RequestMemory {
  readonly facts = new ById<RequestFacts>();
  /** The sequences and reasons of requests that ended, as they were then. */
  private readonly ended = new ById<Ended>();
  /** Sequence → request, index in it and parent. */
  readonly sequences = new ById<{ request: number; index: number; parent?: number | null }>();
  /** The first and the last record at which a request was seen in the engine. */
  private readonly lives = new ById<Range>();
  /** The records of which all is known that undoing them brings back. */
  readonly folded = new Ranges();

  /** How many requests it knows the lives of. */
  get size(): number {
    return this.lives.size;
  }

  /** A request is in the engine, or was up to this record. */
  see(request: number, record: number, first = record): void {
    const life = this.lives.get(request);
    if (life === undefined) this.lives.set(request, { first, last: record });
    else {
      life.first = Math.min(life.first, first);
      life.last = Math.max(life.last, record);
    }
  }

  /**
   * Forget the requests that were in the engine at none of the records in `ranges`; which they are. Those that `isWanted`
   * says stay.
   */
  forget(ranges: readonly Range[], isWanted: (request: number) => boolean): ReadonlySet<number> {
    this.folded.keep(ranges);
    const gone = new Set<number>();
    for (const [request, { first, last }] of this.lives) {
      // A fold may stand before the first record of a range.
      if (isWanted(request) || ranges.some((range) => first <= range.last && last >= range.first - 1))
        continue;
      gone.add(request);
      this.lives.delete(request);
      this.facts.delete(request);
      this.ended.delete(request);
    }
    for (const [sequence, { request }] of this.sequences)
      if (gone.has(request)) this.sequences.delete(sequence);
    return gone;
  }

  /** Facts of a request; what is known of it and not told here stays. */
  learn(request: number, facts: RequestFacts): void {
    this.facts.set(request, { ...this.facts.get(request), ...facts });
  }

  /** A request has ended. A fold that joined after a sequence was dropped never knew it: what another one knew stays. */
  remember(request: number, rows: readonly [number, SequenceRow][], reasons: readonly Reason[]): void {
    const before = this.ended.get(request);
    if (before === undefined) {
      this.ended.set(request, { sequences: rows, reasons });
      return;
    }
    const known = new Map(before.sequences);
    for (const [sequence, row] of known) known.set(sequence, { ...row, dropped: true });
    for (const [sequence, row] of rows) known.set(sequence, row);
    const longest = before.reasons.length > reasons.length ? before.reasons : reasons;
    this.ended.set(request, { sequences: [...known], reasons: longest });
  }

  /** What a request had when it ended; undefined: it had nothing, or that is forgotten. */
  whatHad(request: number): Ended | undefined {
    return this.ended.get(request);
  }

  /**
   * Take what a step says of requests and sequences that no fold has met; true: there was a sequence among them. They may lie in a
   * part that is only read.
   */
  meet({ record, decisions }: Step): boolean {
    let isNew = false;
    for (const decision of decisions ?? []) {
      if (decision.kind === 'submitted' && !this.facts.has(decision.request)) {
        this.facts.set(decision.request, factsOf(decision));
        this.see(decision.request, record);
      } else if (decision.kind === 'sequence_created' && !this.sequences.has(decision.sequence)) {
        const { request, index } = decision;
        this.sequences.set(decision.sequence, { request, index, parent: decision.parent ?? null });
        isNew = true;
      }
    }
    return isNew;
  }

  /** Is it known whose a sequence is, and whether that has several? */
  knows(sequence: number): boolean {
    const row = this.sequences.get(sequence);
    return row !== undefined && this.facts.has(row.request);
  }

  /** The request of a sequence; -1 when it was never seen. */
  requestOf(sequence: number): number {
    return this.sequences.get(sequence)?.request ?? -1;
  }

  /** How a sequence is shown: r21, or r21.0 where its request has several. */
  label(sequence: number): string {
    const row = this.sequences.get(sequence);
    if (row === undefined) return `s${sequence}`;
    const facts = this.facts.get(row.request);
    const several = row.index > 0 || (facts?.n ?? 1) > 1 || facts?.beamWidth != null;
    return several ? `r${row.request}.${row.index}` : `r${row.request}`;
  }
}

export class Requests {
  readonly rows = new Map<number, RequestRow>();
  /** The sequences of the requests that are in the engine. */
  readonly sequences = new Map<number, SequenceRow>();
  /** The same by their requests: an end must not look through the sequences of all others. */
  private readonly members = new Map<number, number[]>();
  /** Why a request in the engine waits, each time it was told: the last one holds. A stack, so that it can be undone. */
  readonly reasons = new Map<number, Reason[]>();

  constructor(readonly memory = new RequestMemory()) {}

  get facts(): ById<RequestFacts> {
    return this.memory.facts;
  }

  /** Follow a decision; the lane `requests` follows with it. */
  decide(decision: Decision, step: Step, lanes: Lanes, fail: FailDecision): void {
    switch (decision.kind) {
      case 'sequence_created':
        this.memory.sequences.set(decision.sequence, {
          request: decision.request,
          index: decision.index,
          parent: decision.parent ?? null,
        });
        if (this.sequences.has(decision.sequence)) fail(`sequence ${decision.sequence} is created twice`);
        this.enter(decision.sequence, {
          request: decision.request,
          index: decision.index,
          parent: decision.parent ?? null,
          dropped: false,
        });
        break;
      case 'sequence_dropped': {
        const row = this.sequences.get(decision.sequence);
        if (row === undefined || row.dropped) {
          fail(`sequence ${decision.sequence} is dropped, but it is not there`);
        } else row.dropped = true;
        break;
      }
      case 'waiting': {
        const told = this.reasons.get(decision.request);
        const reason = { ...decision, step: step.step };
        if (told === undefined) this.reasons.set(decision.request, [reason]);
        else told.push(reason);
        break;
      }
      case 'scheduled':
      case 'hypothesis':
        break;
      case 'submitted':
        this.memory.facts.set(decision.request, factsOf(decision));
        this.memory.see(decision.request, step.record);
        this.move(decision, false, lanes, fail);
        break;
      case 'admitted':
      case 'preempted':
        this.move(decision, false, lanes, fail);
        break;
      case 'finished':
      case 'aborted':
      case 'refused':
        this.memory.see(decision.request, step.record);
        this.move(decision, false, lanes, fail);
        break;
    }
  }

  /** Take a decision back. */
  undecide(decision: Decision, lanes: Lanes, fail: FailDecision): void {
    switch (decision.kind) {
      case 'sequence_created':
        this.leave(decision.sequence);
        break;
      case 'sequence_dropped': {
        const row = this.sequences.get(decision.sequence);
        const known = this.memory.sequences.get(decision.sequence);
        if (row !== undefined) row.dropped = false;
        // A keyframe does not list what was dropped before it.
        else if (known !== undefined)
          this.enter(decision.sequence, { ...known, parent: known.parent ?? null, dropped: false });
        break;
      }
      case 'waiting': {
        const told = this.reasons.get(decision.request);
        told?.pop();
        if (told?.length === 0) this.reasons.delete(decision.request);
        break;
      }
      case 'scheduled':
      case 'hypothesis':
        break;
      default:
        this.move(decision, true, lanes, fail);
    }
  }

  private move(change: Change, backwards: boolean, lanes: Lanes, fail: FailDecision): void {
    const { request } = change;
    const before = rowOf(change.state_before, change.place_before);
    const after = rowOf(change.state_after, change.place_after);
    const from = backwards ? after : before;
    const to = backwards ? before : after;
    const found = this.rows.get(request) ?? null;
    if (found?.state !== from?.state || found?.place !== from?.place) {
      fail(`request ${request} is ${at(found)}, not ${at(from)}`);
    }
    if (found !== null) {
      lanes.leaveRequest(request, STATE_CODES[found.state], found.place);
      this.rows.delete(request);
    }
    if (to === null) this.end(request);
    else {
      if (found === null && backwards) this.comeBack(request);
      this.rows.set(request, to);
      lanes.enterRequest(request, STATE_CODES[to.state] ?? -1, to.place);
    }
  }

  /** A request leaves the engine, and its sequences with it. */
  private end(request: number): void {
    const members = this.members.get(request) ?? NONE_OF_THEM;
    const reasons = this.reasons.get(request) ?? NONE_OF_THEM;
    if (members.length === 0 && reasons.length === 0) return;
    const rows = members.map((sequence): [number, SequenceRow] => [sequence, this.sequences.get(sequence)!]);
    for (const sequence of members) this.sequences.delete(sequence);
    this.members.delete(request);
    this.reasons.delete(request);
    this.memory.remember(request, rows, reasons);
  }

  /** A request comes back, because its end is undone. */
  private comeBack(request: number): void {
    const had = this.memory.whatHad(request);
    if (had === undefined) return;
    for (const [sequence, row] of had.sequences) this.enter(sequence, { ...row });
    if (had.reasons.length > 0) this.reasons.set(request, had.reasons.slice());
  }

  private enter(sequence: number, row: SequenceRow): void {
    this.leave(sequence);
    this.sequences.set(sequence, row);
    const members = this.members.get(row.request);
    if (members === undefined) this.members.set(row.request, [sequence]);
    else members.push(sequence);
  }

  private leave(sequence: number): void {
    const row = this.sequences.get(sequence);
    if (row === undefined) return;
    this.sequences.delete(sequence);
    const members = this.members.get(row.request)!;
    if (members.length === 1) this.members.delete(row.request);
    else members.splice(members.indexOf(sequence), 1);
  }

  /** Take the requests and sequences of a keyframe in place of those at record `before`; what is known of them stays. */
  load(keyframe: Keyframe, before: number, lanes: Lanes): void {
    for (const request of this.rows.keys()) this.memory.see(request, before);
    this.rows.clear();
    this.sequences.clear();
    this.members.clear();
    this.reasons.clear();
    for (const row of keyframe.requests ?? []) {
      this.rows.set(row.request, { state: row.state, place: row.place });
      const { cacheSalt: _untold, ...told } = factsOf(row);
      this.memory.learn(row.request, told);
      // It came at some time before.
      this.memory.see(row.request, keyframe.record, 0);
      lanes.enterRequest(row.request, STATE_CODES[row.state] ?? -1, row.place);
    }
    for (const row of keyframe.sequences ?? []) {
      this.memory.sequences.set(row.sequence, {
        request: row.request,
        index: row.index,
        parent: row.parent ?? null,
      });
      this.enter(row.sequence, {
        request: row.request,
        index: row.index,
        parent: row.parent ?? null,
        dropped: false,
      });
    }
  }

  copyFrom(other: Requests): void {
    const replace = <K, V>(mine: Map<K, V>, theirs: Map<K, V>, copy: (value: V) => V): void => {
      mine.clear();
      for (const [key, value] of theirs) mine.set(key, copy(value));
    };
    replace(this.rows, other.rows, (row) => row);
    replace(this.sequences, other.sequences, (row) => ({ ...row }));
    replace(this.members, other.members, (members) => members.slice());
    replace(this.reasons, other.reasons, (told) => told.slice());
    if (other.memory === this.memory) return;
    for (const [request, facts] of other.facts) this.memory.facts.set(request, facts);
  }

  /** Why a request waits, as far as it was told. */
  reason(request: number): Reason | null {
    return this.reasons.get(request)?.at(-1) ?? null;
  }
}
