/**
 * What was said: the prompt of each request, and what each of its sequences sampled, with the records that tell it.
 *
 *     r21    prompt ─┬─ r21.0   271 (record 40)   318 (42)   9 (44)
 *                    └─ r21.1    99 (40)          17 (42)            created by a fork: it has its parent's prompt
 *
 * Tokens are only ever added, each under the record of the step that sampled it, in whatever order records are folded:
 * what there was at a record is what stands under records up to it, so nothing has to be undone. What this page did not
 * fold itself comes from the server, once a request ({@link Told}), and is merged by record.
 */

import { u32 } from '../ledger/columns';
import type { AnyRecord } from '../ledger/fold';
import type { Step, Text } from '../ledger/generated/types';
import type { RequestMemory } from '../ledger/requests';
import { LOST } from './pieces';
import { type Range, Ranges } from './ranges';

/** The server's answer to `GET …/requests/{request}/tokens`. */
export interface Told {
  readonly request: number;
  /** As of this record. */
  readonly record: number;
  readonly submitted: number;
  readonly facts: {
    readonly name: string;
    readonly prompt_tokens: number;
    readonly max_tokens: number;
    readonly n: number;
    readonly priority: number;
  } | null;
  readonly ending: Ending | null;
  readonly prompt: readonly number[] | null;
  readonly text: string | null;
  readonly why: string | null;
  readonly gaps: readonly (readonly [number, number])[];
  readonly sequences: readonly {
    readonly sequence: number;
    readonly index: number;
    readonly parent: number | null;
    readonly created: number;
    readonly tokens: readonly (number | null)[] | null;
    readonly records: readonly number[];
  }[];
}

export interface Ending {
  readonly record: number;
  readonly step: number;
  readonly kind: 'finished' | 'aborted' | 'refused';
  readonly reason: string | null;
  readonly message: string | null;
}

export interface Branch {
  readonly index: number;
  readonly parent: number | null;
  /** The record of the step that created it. */
  readonly created: number;
  tokens: number[];
  records: number[];
}

export interface Transcript {
  /** The record that tells of it first; null: not known yet. */
  submitted: number | null;
  prompt: readonly number[] | null;
  text: string | null;
  /** Why the prompt is not known, as the server says. */
  why: string | null;
  ending: Ending | null;
  readonly branches: Map<number, Branch>;
  /** Everything at records up to this one is here; -1: that is not certain. */
  known: number;
}

/** Tokens kept for all requests together; those of the oldest go first, and come back from the server. */
const MOST_TOKENS = 1 << 20;
/** Steps whose text record has not come yet. */
const MOST_PENDING = 64;

function lowerBound(list: readonly number[], value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Transcripts {
  private readonly all = new Map<number, Transcript>();
  /** The highest number of a request that was told of: all below it have been there. */
  newest = -1;
  /** The records that were folded here. */
  private readonly seen = new Ranges();
  readonly gaps: Range[] = [];
  private readonly pending = new Map<number, { record: number; sampled: Uint32Array }>();
  /** Requests whose tokens were dropped, and up to which record. */
  private readonly dropped = new Map<number, number>();
  private tokens = 0;
  private limit: number;

  constructor(
    private readonly memory: RequestMemory,
    /** Requests that somebody looks at: they stay. */
    private readonly isWanted: (request: number) => boolean = () => false,
    private readonly most = MOST_TOKENS,
  ) {
    this.limit = most;
  }

  get(request: number): Transcript | undefined {
    return this.all.get(request);
  }

  /** Is all that was said up to a record here? (Of a step whose text has not come yet: all but that.) */
  complete(request: number, record: number): boolean {
    const found = this.all.get(request);
    if (found === undefined || found.known < 0) return false;
    if (record <= found.known) return true;
    const dropped = this.dropped.get(request) ?? -1;
    return found.known >= dropped && this.seen.holds(found.known, record);
  }

  /** Were all records after `from` up to `to` folded here? */
  saw(from: number, to: number): boolean {
    return this.seen.holds(from, to);
  }

  /** What a sequence sampled up to a record, with what it took over from its parent; tokens may be {@link LOST}. */
  sampled(request: number, sequence: number, record: number): { tokens: number[]; records: number[] } {
    const branches = this.all.get(request)?.branches;
    const tokens: number[][] = [];
    const records: number[][] = [];
    let before = record + 1;
    for (let branch = branches?.get(sequence); branch !== undefined; ) {
      const end = lowerBound(branch.records, before);
      tokens.unshift(branch.tokens.slice(0, end));
      records.unshift(branch.records.slice(0, end));
      before = Math.min(before, branch.created);
      branch = branch.parent === null ? undefined : branches?.get(branch.parent);
    }
    return { tokens: tokens.flat(), records: records.flat() };
  }

  // -- what this page folds -----------------------------------------------------------------------------------------

  /** A fold applied a record. */
  note(record: AnyRecord): void {
    if (record.type === 'step') this.noteStep(record);
    else if (record.type === 'text') {
      if (!this.noteText(record)) return;
    } else if (record.type === 'gap') {
      this.noteGap(record.first, record.last);
      this.seen.add(record.first, record.last);
    } else if (record.type === 'keyframe') {
      for (const row of record.sequences ?? []) {
        const found = this.transcript(row.request);
        if (!found.branches.has(row.sequence))
          found.branches.set(row.sequence, branch(row.index, row.parent ?? null, record.record));
      }
      // One that a follower made bears the number of another record.
      if (record.audited !== true) return;
    }
    this.seen.add(record.record);
    this.shrink();
  }

  private transcript(request: number): Transcript {
    let found = this.all.get(request);
    if (found === undefined) {
      found = {
        submitted: null,
        prompt: null,
        text: null,
        why: null,
        ending: null,
        branches: new Map(),
        known: -1,
      };
      this.all.set(request, found);
      this.newest = Math.max(this.newest, request);
    }
    return found;
  }

  private noteGap(first: number, last: number): void {
    if (this.gaps.some((gap) => gap.first === first)) return;
    this.gaps.push({ first, last });
    this.gaps.sort((a, b) => a.first - b.first);
  }

  private noteStep(step: Step): void {
    for (const decision of step.decisions ?? []) {
      const { request } = decision;
      switch (decision.kind) {
        case 'submitted': {
          const found = this.transcript(request);
          found.submitted = step.record;
          if (!this.dropped.has(request)) found.known = Math.max(found.known, step.record - 1);
          break;
        }
        case 'sequence_created': {
          const { branches } = this.transcript(request);
          const known = branches.get(decision.sequence);
          if (known?.created !== step.record) {
            const made = branch(decision.index, decision.parent ?? null, step.record);
            made.tokens = known?.tokens ?? [];
            made.records = known?.records ?? [];
            branches.set(decision.sequence, made);
          }
          break;
        }
        case 'finished':
        case 'aborted':
        case 'refused':
          this.transcript(request).ending = {
            record: step.record,
            step: step.step,
            kind: decision.kind,
            reason: decision.kind === 'finished' ? decision.reason : null,
            message: decision.kind === 'aborted' ? null : (decision.message ?? null),
          };
          break;
      }
    }
    this.pending.set(step.step, { record: step.record, sampled: u32(step.sampled, 'sampled') });
    if (this.pending.size > MOST_PENDING) {
      const [oldest] = this.pending.keys();
      this.pending.delete(oldest!);
    }
  }

  /** False: its step was not folded here, so that nobody knows whose tokens these are. */
  private noteText(text: Text): boolean {
    const step = this.pending.get(text.step);
    if (step === undefined) return false;
    for (const prompt of text.prompts ?? []) {
      const found = this.transcript(prompt.request);
      if (found.prompt === null) {
        const tokens = u32(prompt.tokens, 'prompt.tokens');
        this.tokens += tokens.length;
        found.prompt = Array.from(tokens);
      }
      found.text ??= prompt.text ?? null;
      found.why = null;
    }
    const tokens = u32(text.sampled, 'sampled');
    const bySequence = new Map<number, number[]>();
    step.sampled.forEach((sequence, i) => {
      const token = tokens[i];
      if (token === undefined) return;
      const list = bySequence.get(sequence);
      if (list === undefined) bySequence.set(sequence, [token]);
      else list.push(token);
    });
    for (const [sequence, sampled] of bySequence) {
      const row = this.memory.sequences.get(sequence);
      if (row === undefined) continue;
      const { branches } = this.transcript(row.request);
      let into = branches.get(sequence);
      if (into === undefined) {
        // Its creation was not folded here, or was dropped: what it took over comes from the server.
        into = branch(row.index, null, step.record);
        branches.set(sequence, into);
      }
      this.insert(into, step.record, sampled);
    }
    return true;
  }

  private insert(into: Branch, record: number, tokens: readonly number[]): void {
    const at = lowerBound(into.records, record);
    if (into.records[at] === record) {
      // It is here already, unless it is known as lost.
      if (into.tokens[at] === LOST) into.tokens.splice(at, tokens.length, ...tokens);
      return;
    }
    into.records.splice(at, 0, ...tokens.map(() => record));
    into.tokens.splice(at, 0, ...tokens);
    this.tokens += tokens.length;
  }

  // -- what the server tells ----------------------------------------------------------------------------------------

  /** Merge what the server tells of a request, as of a record. */
  merge(told: Told): void {
    const found = this.transcript(told.request);
    const { facts } = told;
    if (facts !== null && !this.memory.facts.has(told.request)) {
      this.memory.facts.set(told.request, {
        name: facts.name,
        promptTokens: facts.prompt_tokens,
        maxTokens: facts.max_tokens,
        n: facts.n,
        priority: facts.priority,
        precedence: 0, // it has ended: it waits no more
      });
    }
    found.submitted ??= told.submitted;
    if (told.prompt !== null && found.prompt === null) {
      found.prompt = told.prompt;
      this.tokens += told.prompt.length;
    }
    found.text ??= told.text;
    found.why = found.prompt === null ? told.why : null;
    found.ending ??= told.ending;
    for (const [first, last] of told.gaps) this.noteGap(first, last);
    for (const row of told.sequences) {
      this.memory.sequences.set(row.sequence, { request: told.request, index: row.index });
      const mine = found.branches.get(row.sequence);
      const made = branch(row.index, row.parent, row.created);
      made.tokens = (row.tokens ?? row.records.map(() => null)).map((token) => token ?? LOST);
      made.records = [...row.records];
      this.tokens += made.tokens.length;
      found.branches.set(row.sequence, made);
      // What was folded here since.
      mine?.records.forEach((record, i) => {
        if (record > told.record) {
          made.records.push(record);
          made.tokens.push(mine.tokens[i]!);
        }
      });
    }
    found.known = Math.max(found.known, told.record);
    this.shrink();
  }

  // -- memory ---------------------------------------------------------------------------------------------------------

  /** Past the bound, drop the requests that came first and that nobody looks at, until a quarter is free. */
  private shrink(): void {
    if (this.tokens <= this.limit) return;
    let kept = 0;
    for (const each of this.all.values()) kept += sizeOf(each);
    const through = this.seen.list.at(-1)?.last ?? -1;
    for (const [request, each] of this.all) {
      if (kept <= this.most * 0.75) break;
      const size = sizeOf(each);
      if (size === 0 || this.isWanted(request)) continue;
      kept -= size;
      this.all.delete(request);
      this.dropped.set(request, Math.max(through, this.dropped.get(request) ?? -1));
    }
    this.tokens = kept;
    // What somebody looks at stays even past the bound: then it is not gone through again at each record.
    this.limit = Math.max(this.most, kept * 1.25);
  }
}

function branch(index: number, parent: number | null, created: number): Branch {
  return { index, parent, created, tokens: [], records: [] };
}

function sizeOf(transcript: Transcript): number {
  let sum = transcript.prompt?.length ?? 0;
  for (const each of transcript.branches.values()) sum += each.tokens.length;
  return sum;
}
