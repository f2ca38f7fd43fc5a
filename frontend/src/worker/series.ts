/**
 * A row a step, dense by step number: usage, tokens, what happened. Filled from the server's table of steps and from
 * this page's own fold, whichever comes first; drawn by the timeline, and used to find records by step or time.
 */

import type { Usage } from '../ledger/fold';
import { Operation } from '../ledger/generated/constants';
import type { Step } from '../ledger/generated/types';

export const SERIES = [
  'record',
  'op',
  'time',
  'active',
  'shared',
  'cached',
  'free',
  'prefill_tokens',
  'decode_tokens',
  'budget',
  'allocate',
  'evict',
  'copy',
  'preempted',
  'queries',
  'hits',
] as const;
export type SeriesName = (typeof SERIES)[number];

/** What needs more than the 2^24 that a f32 counts to. The others are counts of one step; a step takes 76 bytes. */
const WIDE: readonly SeriesName[] = ['record', 'op', 'time'];

type Column = Float64Array | Float32Array;

function unknown(name: SeriesName, length: number): Column {
  const made = WIDE.includes(name) ? new Float64Array(length) : new Float32Array(length);
  return made.fill(Number.NaN);
}

/** The server's answer to `GET …/steps`: columns; null: not recorded. */
export type StepColumns = { step: number[] } & Partial<
  Record<Exclude<SeriesName, Asked> | OperationCount, number[]> & Record<Asked, (number | null)[]>
>;
/** Columns that older recordings do not have. */
type Asked = 'queries' | 'hits';
type OperationCount = Exclude<keyof typeof Operation, 'free'> | 'freed';

/** What the timeline draws: a bucket of steps a pixel or so. */
export interface Buckets {
  /** What was asked for: steps `from` (included) to `to` (excluded). */
  window: { from: number; to: number };
  /** The step at which the first bucket begins, and how many steps a bucket has. */
  from: number;
  per: number;
  /** For each bucket; NaN where nothing is known. */
  active: Float32Array;
  shared: Float32Array;
  cached: Float32Array;
  prefill: Float32Array;
  decode: Float32Array;
  evict: Float32Array;
  copy: Float32Array;
  preempted: Float32Array;
  /** Tokens that the requests admitted in them asked the prefix cache for, and found; NaN where that is not recorded. */
  queries: Float64Array;
  hits: Float64Array;
  /** The largest number of tokens in a step. */
  maxTokens: number;
  /** The most blocks in use (active or shared) in a step, the tokens of all steps, and how many steps are known. */
  most: Float32Array;
  prefillSum: Float32Array;
  decodeSum: Float32Array;
  known: Float32Array;
  /** What is not known is on its way. */
  filling: boolean;
}

export class Series {
  private columns: Record<SeriesName, Column>;
  private capacity = 1024;
  /** Steps up to (excluded) this one may be known. */
  length = 0;
  /** Are missing steps being asked for? */
  filling = false;
  /** Grows with every change of a row. */
  version = 0;

  constructor() {
    this.columns = Object.fromEntries(SERIES.map((name) => [name, unknown(name, this.capacity)])) as Record<
      SeriesName,
      Column
    >;
  }

  /** Rows up to (excluded) `length` are about to change. */
  private reserve(length: number): void {
    this.version++;
    if (length > this.capacity) {
      this.capacity = Math.max(length, 2 * this.capacity);
      for (const name of SERIES) {
        const grown = unknown(name, this.capacity);
        grown.set(this.columns[name]);
        this.columns[name] = grown;
      }
    }
    this.length = Math.max(this.length, length);
  }

  has(step: number): boolean {
    return step >= 0 && step < this.length && !Number.isNaN(this.columns.record[step]!);
  }

  get(name: SeriesName, step: number): number {
    return step >= 0 && step < this.length ? this.columns[name][step]! : Number.NaN;
  }

  /** Take the server's rows. */
  load(rows: StepColumns): void {
    const last = rows.step.at(-1);
    if (last === undefined) return;
    this.reserve(last + 1);
    for (const name of SERIES) {
      const from = rows[name];
      if (from === undefined) continue;
      const to = this.columns[name];
      for (let i = 0; i < rows.step.length; i++) to[rows.step[i]!] = from[i] ?? Number.NaN;
    }
  }

  /** Take a step that this page folded. */
  append(step: Step, usage: Usage): void {
    if (!Number.isSafeInteger(step.step) || step.step < 0 || step.step > this.length + 1e7) return;
    this.reserve(step.step + 1);
    const set = (name: SeriesName, value: number): void => {
      this.columns[name][step.step] = value;
    };
    let prefill = 0;
    let preempted = 0;
    let queries = 0;
    let hits = 0;
    for (const decision of step.decisions ?? []) {
      if (decision.kind === 'scheduled') prefill += decision.tokens;
      else if (decision.kind === 'preempted') preempted++;
      else if (decision.kind === 'admitted' && decision.state_before !== 'preempted') {
        // As vLLM counts them: what a request finds again after a preemption was its own.
        queries += decision.tokens;
        hits += decision.hit ?? 0;
      }
    }
    let allocate = 0;
    let evict = 0;
    let copy = 0;
    for (const kind of step.operations?.kind ?? []) {
      if (kind === Operation.allocate) allocate++;
      else if (kind === Operation.evict) evict++;
      else if (kind === Operation.copy) copy++;
    }
    set('record', step.record);
    set('op', step.op);
    set('time', step.sealed);
    set('active', usage.active);
    set('shared', usage.shared);
    set('cached', usage.cached);
    set('free', usage.free);
    set('prefill_tokens', prefill);
    set('decode_tokens', Math.max(0, (step.tokens ?? 0) - prefill));
    set('budget', step.budget ?? 0);
    set('allocate', allocate);
    set('evict', evict);
    set('copy', copy);
    set('preempted', preempted);
    set('queries', queries);
    set('hits', hits);
  }

  /** Know where a step is, and no more. */
  place(step: Step): void {
    this.reserve(step.step + 1);
    this.columns.record[step.step] = step.record;
    this.columns.op[step.step] = step.op;
    this.columns.time[step.step] = step.sealed;
  }

  /** Forget all steps from this one on. */
  truncate(length: number): void {
    this.version++;
    for (const name of SERIES) this.columns[name].fill(Number.NaN, Math.max(0, length));
    this.length = Math.min(this.length, Math.max(0, length));
  }

  /** The last step whose record, first operation or time is at most `value`; the first one if there is none. */
  last(name: 'record' | 'op' | 'time', value: number): number {
    const column = this.columns[name];
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const found = column[middle]!;
      if (Number.isNaN(found) || found > value) high = middle - 1;
      else low = middle;
    }
    return Math.max(0, low);
  }

  /** When the step of a record was sealed; null: the record is not known as a step's. */
  timeOf(record: number): number | null {
    // Backwards: it is most often of late, and a step that is not known says nothing of its neighbours.
    const column = this.columns.record;
    let step = this.length - 1;
    while (step >= 0 && !(column[step]! <= record)) step--;
    return step >= 0 && column[step] === record ? this.columns.time[step]! : null;
  }

  /** The first steps without a usage before one that has it, or up to `through`, as [first, last], or null. */
  hole(through = -1): [number, number] | null {
    let first = -1;
    for (let step = 0; step < Math.max(this.length, through + 1); step++) {
      // Of a step that came with a seek and was not folded, the record is known, and no more.
      const known = !Number.isNaN(this.get('active', step));
      if (!known && first < 0) first = step;
      if (known && first >= 0) return [first, step - 1];
    }
    return first >= 0 && first <= through ? [first, through] : null;
  }

  /** Steps `from` to `to` in at most `width` buckets. */
  buckets(from: number, to: number, width: number): Buckets {
    const per = Math.max(1, Math.ceil((to - from) / Math.max(1, width)));
    const start = Math.floor(from / per) * per;
    const count = Math.max(0, Math.ceil((to - start) / per));
    const make = (): Float32Array => new Float32Array(count);
    const out: Buckets = {
      window: { from, to },
      from: start,
      per,
      active: make(),
      shared: make(),
      cached: make(),
      prefill: make(),
      decode: make(),
      evict: make(),
      copy: make(),
      preempted: make(),
      queries: new Float64Array(count),
      hits: new Float64Array(count),
      maxTokens: 0,
      most: make(),
      prefillSum: make(),
      decodeSum: make(),
      known: make(),
      filling: this.filling,
    };
    const { columns } = this;
    for (let bucket = 0; bucket < count; bucket++) {
      let known = 0;
      let active = 0;
      let shared = 0;
      let cached = 0;
      let prefill = 0;
      let decode = 0;
      let evict = 0;
      let copy = 0;
      let preempted = 0;
      let queries = 0;
      let hits = 0;
      let most = 0;
      let prefillSum = 0;
      let decodeSum = 0;
      const end = Math.min(this.length, start + (bucket + 1) * per);
      for (let step = Math.max(0, start + bucket * per); step < end; step++) {
        const a = columns.active[step]!;
        if (Number.isNaN(a)) continue;
        known++;
        active += a;
        shared += columns.shared[step]!;
        cached += columns.cached[step]!;
        const p = columns.prefill_tokens[step]!;
        const d = columns.decode_tokens[step]!;
        // The tallest step of a bucket stands for it: a burst must not vanish in a mean.
        most = Math.max(most, a + columns.shared[step]!);
        prefillSum += p;
        decodeSum += d;
        if (p > prefill) prefill = p;
        if (d > decode) decode = d;
        evict += columns.evict[step]!;
        copy += columns.copy[step]!;
        preempted += columns.preempted[step]!;
        queries += columns.queries[step]!;
        hits += columns.hits[step]!;
      }
      out.active[bucket] = active / known;
      out.shared[bucket] = shared / known;
      out.cached[bucket] = cached / known;
      out.most[bucket] = most;
      out.prefillSum[bucket] = prefillSum;
      out.decodeSum[bucket] = decodeSum;
      out.known[bucket] = known;
      out.prefill[bucket] = prefill;
      out.decode[bucket] = decode;
      out.evict[bucket] = evict;
      out.copy[bucket] = copy;
      out.preempted[bucket] = preempted;
      out.queries[bucket] = known > 0 ? queries : Number.NaN;
      out.hits[bucket] = known > 0 ? hits : Number.NaN;
      out.maxTokens = Math.max(out.maxTokens, prefill + decode);
    }
    return out;
  }
}
