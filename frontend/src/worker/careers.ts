/**
 * How requests went: when each came, had its first token, was preempted and ended; kept by record, so that it is told as of any.
 *
 *     r21   submitted ──── first token ───── preempted ───── finished
 *           time of step    time sealed       records         step
 *           └── time to the first token ──┘
 *
 * Taken from the records that this page folds, in whatever order, and from the server's rows (`GET …/requests`). What lies
 * in neither is {@link NOT_RECORDED}, never guessed: a first token that was seen is the first only if all records between it and
 * the submission were.
 */

import { ById } from '../ledger/byId';
import { u32 } from '../ledger/columns';
import type { AnyRecord, Fold } from '../ledger/fold';
import type { Step } from '../ledger/generated/types';
import { Ranges } from '../ledger/ranges';
import type { RequestMemory } from '../ledger/requests';
import { Inquiry } from './inquiry';
import type { Landmarks } from './landmarks';
import type { Requests } from './source';

export const NOT_RECORDED = 'not recorded';
export type Known<T> = T | typeof NOT_RECORDED;

/** A row of the server's table of requests, as far as it is needed here. Times are ns since the session's start. */
export interface RequestTold {
  readonly request: number;
  readonly name: string;
  /** waiting, running, preempted, finished, aborted, refused, or lost in a gap. */
  readonly state: string;
  readonly reason: string | null;
  readonly preemptions: number;
  readonly submitted_record: number;
  readonly submitted_time: number;
  readonly first_token_time: number | null;
  readonly ended_step: number | null;
}

/** How a request ended, and in which step. */
export interface EndOfRequest {
  readonly step: number;
  /** stop, length, aborted … */
  readonly how: string;
}

interface Career {
  submitted: { readonly record: number; readonly time: number } | null;
  /** The earliest token that was seen. */
  first: { readonly record: number; readonly time: number } | null;
  /** Records of its preemptions, ascending. */
  readonly preempted: number[];
  ended: EndOfRequest | null;
  told: RequestTold | null;
}

/** Where a view stands. */
type Standing = Pick<Fold, 'record' | 'step' | 'time' | 'rest'>;

/** ms between two questions to the server, at least, and in times that the last one took: an answer may be large. */
const PAUSE = 5000;
const PAUSES = 20;

export class Careers {
  private readonly all = new ById<Career>();
  private readonly seen = new Ranges();
  private readonly inquiry = new Inquiry(PAUSE, PAUSES);
  /** All that the server had to tell was told. */
  private isLoaded = false;

  constructor(
    private readonly memory: RequestMemory,
    private readonly requests: Pick<Requests, 'requests'>,
    private readonly landmarks: Pick<Landmarks, 'isLost'>,
    /** More is known. */
    private readonly changed: () => void,
  ) {}

  /** Why the server's rows could not be had; null: nothing is wrong. */
  get fault(): string | null {
    return this.inquiry.fault;
  }

  private career(request: number): Career {
    let found = this.all.get(request);
    if (found === undefined) {
      found = { submitted: null, first: null, preempted: [], ended: null, told: null };
      this.all.set(request, found);
    }
    return found;
  }

  /** A fold applied a record. */
  note(record: AnyRecord): void {
    if (this.seen.has(record.record)) return;
    // What a gap lost is behind it; a state tells nothing of what led to it.
    if (record.type !== 'gap') this.seen.add(record.record);
    if (record.type === 'step') this.noteStep(record);
  }

  private noteStep(step: Step): void {
    for (const decision of step.decisions ?? []) {
      switch (decision.kind) {
        case 'submitted':
          this.career(decision.request).submitted = { record: step.record, time: step.time };
          break;
        case 'preempted': {
          const { preempted } = this.career(decision.request);
          preempted.push(step.record);
          if (preempted.length > 1) preempted.sort((a, b) => a - b);
          break;
        }
        case 'finished':
        case 'aborted':
        case 'refused': {
          const how = decision.kind === 'finished' ? decision.reason : decision.kind;
          this.career(decision.request).ended = { step: step.step, how };
          break;
        }
      }
    }
    if (step.sampled === undefined || step.sampled.length % 4 !== 0) return;
    for (const sequence of u32(step.sampled)) {
      const request = this.memory.requestOf(sequence);
      if (request < 0) continue;
      const career = this.career(request);
      if (career.first === null || step.record < career.first.record)
        career.first = { record: step.record, time: step.sealed };
    }
  }

  /** Take the server's rows. */
  load(rows: readonly RequestTold[]): void {
    for (const row of rows) this.career(row.request).told = row;
  }

  /** Forget requests that no record here tells of; the server still knows them. */
  forget(gone: ReadonlySet<number>): void {
    for (const request of gone) this.all.delete(request);
    if (gone.size > 0) this.isLoaded = false;
  }

  /**
   * Somebody looks at requests that ended, or at figures of which some are `missing`: ask the server for what may have come
   * before this page did. It is asked again only for what is missing, and while it may get to know more.
   */
  want(missing: boolean, isLive: boolean): void {
    const isOfUse = !this.isLoaded || (missing && isLive);
    if (!isOfUse || !this.inquiry.isReady) return;
    void this.inquiry
      .ask(async () => {
        this.load(await this.requests.requests());
        this.isLoaded = true;
      })
      .then(this.changed);
  }

  /** ns from the submission of a request to its first token, as of where a view stands; null: it has none there. */
  firstToken(request: number, at: Standing): Known<number | null> {
    const career = this.all.get(request);
    const told = career?.told ?? null;
    const submitted = career?.submitted ?? submissionIn(told);
    if (career === undefined || submitted === null) return NOT_RECORDED;
    const { first } = career;
    const isSeen = first !== null && this.seen.holds(submitted.record, first.record);
    const time = isSeen ? first.time : (told?.first_token_time ?? null);
    if (time !== null && !isSeen && this.landmarks.isLost(submitted.record, { time })) return NOT_RECORDED;
    // Tokens are told behind all operations of their step.
    if (time !== null)
      return time < at.time || (time === at.time && at.rest === 0) ? time - submitted.time : null;
    const endedWithout = told !== null && this.isWhole(told);
    return endedWithout || this.seen.holds(submitted.record, at.record) ? null : NOT_RECORDED;
  }

  /** How often a request had been preempted where a view stands. */
  preemptions(request: number, at: Standing): Known<number> {
    const career = this.all.get(request);
    const told = career?.told ?? null;
    const submitted = career?.submitted ?? submissionIn(told);
    if (career === undefined || submitted === null) return NOT_RECORDED;
    if (this.seen.holds(submitted.record, at.record))
      return career.preempted.filter((record) => record <= at.record).length;
    if (told === null || !this.isWhole(told)) return NOT_RECORDED;
    return told.preemptions === 0 || told.ended_step! <= at.step ? told.preemptions : NOT_RECORDED;
  }

  /** Does the server's row tell all that there will ever be of a request? */
  private isWhole({ ended_step, submitted_record }: RequestTold): boolean {
    return ended_step !== null && !this.landmarks.isLost(submitted_record, { step: ended_step });
  }

  /** How a request had ended where a view stands; null: it had not. */
  endOf(request: number, at: Standing): EndOfRequest | null {
    const career = this.all.get(request);
    const ended = career?.ended ?? endIn(career?.told ?? null);
    return ended !== null && ended.step <= at.step ? ended : null;
  }

  /** The requests that have ended at some time, as far as is known. */
  *ended(): IterableIterator<{ request: number; name: string }> {
    for (const [request, { ended, told }] of this.all) {
      if (ended === null && told?.ended_step == null) continue;
      yield { request, name: this.memory.facts.get(request)?.name ?? told?.name ?? '' };
    }
  }
}

function submissionIn(told: RequestTold | null): Career['submitted'] {
  return told && { record: told.submitted_record, time: told.submitted_time };
}

function endIn(told: RequestTold | null): EndOfRequest | null {
  if (told === null || told.ended_step === null) return null;
  return { step: told.ended_step, how: told.reason ?? told.state };
}
