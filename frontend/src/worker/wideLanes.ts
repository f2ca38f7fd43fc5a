/**
 * The lanes of requests where the timeline shows so many steps that none of them is as wide as a pixel: from the server's index
 * (`GET …/careers`) or the table that an exported page holds, which tell when each request came, was admitted and ended, as many as
 * there are rows.
 *
 *     asked for   ├──────────────────────────────────────────────┤
 *     r17              ╶─▆▆▆▆▆▆▆▆▆▆▆▆╴                              preempted between: told as such, not where
 *     steps lost                 ╱╱╱╱                               what the table of steps has not is not known of requests either
 *     indexed     ├───────────────────────────────────────┤         behind that nothing is known yet
 */

import type { LaneRow, LanesAnswer, LanesQuery } from './lanes';
import { SPAN_STATES } from './lanes';
import type { Series } from './series';
import type { Requests } from './source';

/** A request, as far as the index tells it here. */
export interface Career {
  readonly request: number;
  readonly name: string;
  /** waiting, running, preempted, finished, aborted, refused, or lost in a gap. */
  readonly state: string;
  readonly preemptions: number;
  readonly submitted_step: number;
  readonly admitted_step: number | null;
  /** Of one that is lost: where it is known that it ended before. */
  readonly ended_step: number | null;
}

/** The server's answer. */
export interface ToldCareers {
  readonly requests: readonly Career[];
  readonly total: number;
  /** The last step that is indexed; null: none is. */
  readonly through: number | null;
}

/** What a server answers, of a page's own careers: backend/kvarium/recording/careers.py says the same in SQL. */
export function careersIn(
  all: readonly Career[],
  { from, to, at, offset, count, selected }: LanesQuery,
  through: number | null,
): ToldCareers {
  const group = ({ submitted_step, ended_step }: Career): number => {
    if (submitted_step > at) return 1;
    return ended_step !== null && ended_step < at ? 2 : 0;
  };
  const meets = all.filter(
    ({ submitted_step, ended_step }) => submitted_step < to && (ended_step === null || ended_step >= from),
  );
  // Of those that ended the last one is first.
  meets.sort((a, b) => {
    const before = group(a) - group(b);
    return before || (group(a) === 2 ? b.request - a.request : a.request - b.request);
  });
  const requests = meets.slice(offset, offset + count);
  const also = meets.find(({ request }) => request === selected);
  if (also !== undefined && !requests.includes(also)) requests.unshift(also);
  return { requests, total: meets.length, through };
}

/** ms that the reader stays with a part before it is asked for, and between two questions at least. */
const RESTS = 120;
const PACE = 1000;

const code = (state: (typeof SPAN_STATES)[number]): number => SPAN_STATES.indexOf(state);

export class WideLanes {
  /** Grows with every change. */
  version = 0;
  private told: {
    readonly answer: ToldCareers;
    readonly query: LanesQuery;
    /** More was indexed than the last time. */
    readonly grows: boolean;
  } | null = null;
  private wanted: LanesQuery | null = null;
  private isAsking = false;
  private askedAt = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private closed = false;

  constructor(
    private readonly requests: Pick<Requests, 'careers'>,
    private readonly series: Pick<Series, 'has'>,
    private readonly changed: () => void,
    /** Somebody waits for something else. */
    private readonly isBusy: () => boolean,
  ) {}

  close(): void {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  /** Steps that were seen are no more. */
  forget(): void {
    this.told = null;
    this.version++;
  }

  answer(query: LanesQuery): LanesAnswer {
    this.wanted = query;
    const isDue = this.isDue(query);
    if (isDue) this.askSoon();
    const { from, to, offset } = query;
    const { told } = this;
    const none = { from, to, rows: [], offset, total: 0, holes: [], isLoading: isDue };
    if (told === null) return none;
    const through = told.answer.through ?? -1;
    return {
      ...none,
      rows: told.answer.requests.map((career) => rowOf(career, query, through)),
      offset: told.query.offset,
      total: told.answer.total,
      holes: this.holes(from, to, through),
    };
  }

  private isDue(query: LanesQuery): boolean {
    const { told } = this;
    if (told === null || keyOf(told.query) !== keyOf(query)) return true;
    return told.grows && (told.answer.through ?? -1) < query.to - 1;
  }

  private askSoon(): void {
    if (this.timer !== null || this.isAsking || this.closed) return;
    const rest = Math.max(RESTS, this.askedAt + PACE - performance.now());
    this.timer = setTimeout(() => void this.ask(), rest);
  }

  private async ask(): Promise<void> {
    this.timer = null;
    const query = this.wanted;
    if (query === null || !this.isDue(query)) return;
    if (this.isBusy()) {
      this.askSoon();
      return;
    }
    this.isAsking = true;
    this.askedAt = performance.now();
    try {
      const answer = await this.requests.careers(query);
      const before = this.told?.answer.through;
      this.told = { answer, query, grows: answer.through !== before };
    } catch {
      // Asked again where somebody looks; what is missing is seen on the page.
    }
    this.isAsking = false;
    if (this.closed) return;
    this.version++;
    this.changed();
  }

  /** From a step (included) to a step (excluded): lost, or not indexed yet. */
  private holes(from: number, to: number, through: number): number[] {
    const found: number[] = [];
    const end = Math.min(to, through + 1);
    let first = -1;
    for (let step = from; step <= end; step++) {
      const isKnown = step === end || this.series.has(step);
      if (!isKnown && first < 0) first = step;
      if (!isKnown || first < 0) continue;
      found.push(first, step);
      first = -1;
    }
    if (end >= to) return found;
    if (found.at(-1) === end) found[found.length - 1] = to;
    else found.push(Math.max(from, end), to);
    return found;
  }
}

function keyOf({ from, to, count, at, offset, selected }: LanesQuery): string {
  return [from, to, count, at, offset, selected].join();
}

function rowOf(career: Career, { from, to }: LanesQuery, through: number): LaneRow {
  const { request, name, state, preemptions, submitted_step: came, ended_step: ended } = career;
  const isLost = state === 'lost';
  // In the step that it ends in it was there still.
  const over = ended === null ? through + 1 : isLost ? ended : ended + 1;
  const admitted = career.admitted_step ?? over;
  const spans: number[] = [];
  const span = (since: number, until: number, of: number): void => {
    const [a, b] = [Math.max(since, from), Math.min(until, to)];
    if (a < b) spans.push(a, b, of);
  };
  span(came, admitted, code('waiting'));
  span(admitted, over, code(preemptions > 0 ? 'mixed' : 'running'));
  const isSeen = ended !== null && !isLost && ended >= from && ended < to;
  const end = isSeen ? { step: ended, how: state as 'finished' | 'aborted' | 'refused' } : null;
  return { request, name, sequences: [], spans, chunks: [], end };
}
