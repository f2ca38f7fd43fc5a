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
import type { Control, Hypothesis as HypothesisDecision, Step, Text } from '../ledger/generated/types';
import { type Likely, likely } from '../ledger/logprobs';
import { type Range, Ranges } from '../ledger/ranges';
import { factsOf } from '../ledger/requestFacts';
import type { RequestMemory } from '../ledger/requests';
import { Branch, lowerBound, type SampledToken } from './branch';
import { Hypotheses, type Hypothesis } from './hypotheses';
import { LOST } from './pieces';
import type { Ending, SubmitArgs, Told } from './told';

export interface Transcript {
  /** The record that tells of it first; null: not known yet. */
  submitted: number | null;
  prompt: readonly number[] | null;
  text: string | null;
  /** Why the prompt is not known, as the server says. */
  why: string | null;
  ending: Ending | null;
  /** What the command that submitted it asked for; null: there was none, or it is not known. */
  submit: SubmitArgs | null;
  readonly branches: Map<number, Branch>;
  readonly hypotheses: Hypotheses;
  /** Everything at records up to this one is here; -1: that is not certain. */
  known: number;
}

/** The tokens of a sequence, the record of each, and how likely each was (null: its request did not ask). */
export interface Line {
  readonly tokens: readonly number[];
  readonly records: readonly number[];
  readonly likely: readonly (Likely | null)[] | null;
}

/** A whole answer of a beam search: the best has rank 0. Its last token is the one that ended it. */
export interface RankedHypothesis extends Omit<Hypothesis, 'taken' | 'token'> {
  readonly rank: number;
  readonly tokens: readonly number[] | null;
}

/** Tokens kept for all requests together; those of the oldest go first, and come back from the server. */
const MOST_TOKENS = 1 << 20;
/** Steps whose text record has not come yet. */
const MOST_PENDING = 64;

export class Transcripts {
  private readonly all = new Map<number, Transcript>();
  /** The highest number of a request that was told of: all below it have been there. */
  newest = -1;
  /** The records that were folded here. */
  private readonly seen = new Ranges();
  readonly gaps: Range[] = [];
  private readonly pending = new Map<number, { record: number; sampled: Uint32Array }>();
  /** Requests whose tokens were dropped, the last of them at which record. */
  private readonly dropped = new Ranges();
  private droppedThrough = -1;
  private tokens = 0;
  private limit: number;

  constructor(
    private readonly memory: RequestMemory,
    /** Requests that somebody looks at: they stay. */
    private readonly isWanted: (request: number) => boolean = () => false,
    private readonly most = MOST_TOKENS,
    /** Are the texts of what is folded here complete? Else nothing that is folded counts as seen. */
    private readonly isTold = true,
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
    const dropped = this.dropped.has(request) ? this.droppedThrough : -1;
    return found.known >= dropped && this.seen.holds(found.known, record);
  }

  /** Were all records after `from` up to `to` folded here? */
  saw(from: number, to: number): boolean {
    return this.seen.holds(from, to);
  }

  /** What a sequence sampled up to a record, with what it took over from its parent; tokens may be {@link LOST}. */
  sampled(request: number, sequence: number, record: number): Line {
    const branches = this.all.get(request)?.branches;
    const parts: { branch: Branch; end: number }[] = [];
    let before = record + 1;
    for (let branch = branches?.get(sequence); branch !== undefined; ) {
      parts.unshift({ branch, end: lowerBound(branch.records, before) });
      before = Math.min(before, branch.created);
      branch = branch.parent === null ? undefined : branches?.get(branch.parent);
    }
    const asked = parts.some(({ branch }) => branch.isAsked);
    return {
      tokens: parts.flatMap(({ branch, end }) => branch.tokens.slice(0, end)),
      records: parts.flatMap(({ branch, end }) => branch.records.slice(0, end)),
      likely: asked
        ? parts.flatMap(({ branch, end }) => Array.from({ length: end }, (_, i) => branch.likelyAt(i)))
        : null,
    };
  }

  /** The whole answers that a beam search had found by a record, best first; null: tokens that are not recorded. */
  hypotheses(request: number, record: number): readonly RankedHypothesis[] {
    const found = this.all.get(request)?.hypotheses.at(record) ?? [];
    return found.map((each, rank): RankedHypothesis => {
      const { tokens } = this.sampled(request, each.sequence, each.record - 1);
      const isHere = each.token !== null && tokens.length === each.taken;
      return { ...each, rank, tokens: isHere ? [...tokens, each.token!] : null };
    });
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
    } else if (record.type === 'control') this.noteControl(record);
    else if (record.type === 'keyframe') {
      for (const row of record.sequences ?? []) {
        const found = this.transcript(row.request);
        if (!found.branches.has(row.sequence))
          found.branches.set(row.sequence, new Branch(row.index, row.parent ?? null, record.record));
      }
      // One that a follower made bears the number of another record.
      if (record.audited !== true) return;
    }
    if (this.isTold) this.seen.add(record.record);
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
        submit: null,
        branches: new Map(),
        hypotheses: new Hypotheses(),
        known: -1,
      };
      this.all.set(request, found);
      this.newest = Math.max(this.newest, request);
    }
    return found;
  }

  private noteControl({ name, error, args = {} }: Control): void {
    const { request } = args;
    if (name === 'submit' && error == null && typeof request === 'number')
      this.transcript(request).submit = args;
  }

  private noteGap(first: number, last: number): void {
    if (this.gaps.some((gap) => gap.first === first)) return;
    this.gaps.push({ first, last });
    this.gaps.sort((a, b) => a.first - b.first);
  }

  private noteStep(step: Step): void {
    const answers = new Map<number, HypothesisDecision[]>();
    for (const decision of step.decisions ?? []) {
      const { request } = decision;
      switch (decision.kind) {
        case 'submitted': {
          const found = this.transcript(request);
          found.submitted = step.record;
          if (this.isTold && !this.dropped.has(request)) found.known = Math.max(found.known, step.record - 1);
          break;
        }
        case 'sequence_created': {
          const { branches } = this.transcript(request);
          const { sequence, index } = decision;
          const parent = decision.parent ?? null;
          const known = branches.get(sequence);
          if (known?.created !== step.record) {
            const made = known?.as(index, parent, step.record) ?? new Branch(index, parent, step.record);
            branches.set(sequence, made);
          }
          break;
        }
        case 'sequence_dropped': {
          const { reason = null, stop_reason = null } = decision;
          const found = this.branch(decision.sequence, step.record);
          if (found !== null) found.ending = { record: step.record, reason, stop_reason };
          break;
        }
        case 'hypothesis': {
          const told = answers.get(request);
          if (told === undefined) answers.set(request, [decision]);
          else told.push(decision);
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
            stop_reason: decision.kind === 'finished' ? (decision.stop_reason ?? null) : null,
          };
          break;
      }
    }
    for (const [request, found] of answers)
      this.transcript(request).hypotheses.note(step.record, step.step, found);
    this.pending.set(step.step, { record: step.record, sampled: u32(step.sampled, 'sampled') });
    if (this.pending.size > MOST_PENDING) {
      const [oldest] = this.pending.keys();
      this.pending.delete(oldest!);
    }
  }

  /** A sequence that a record tells of; null: nobody knows whose it is. */
  private branch(sequence: number, record: number): Branch | null {
    const row = this.memory.sequences.get(sequence);
    if (row === undefined) return null;
    const { branches } = this.transcript(row.request);
    let found = branches.get(sequence);
    if (found === undefined) {
      // Its creation was not folded here yet, or was dropped: what it took over comes with that, or from the server.
      found = new Branch(row.index, null, record);
      branches.set(sequence, found);
    }
    return found;
  }

  /** False: its step was not folded here, so that nobody knows whose tokens these are. */
  private noteText(text: Text): boolean {
    const step = this.pending.get(text.step);
    if (step === undefined) return false;
    for (const prompt of text.prompts ?? []) {
      if (prompt.hash !== undefined) continue; // told by its hash: its text is not recorded
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
    const told = likely(text.logprobs);
    const bySequence = new Map<number, SampledToken[]>();
    step.sampled.forEach((sequence, i) => {
      const token = tokens[i];
      if (token === undefined) return;
      const each = { token, likely: told.get(i) ?? null };
      const list = bySequence.get(sequence);
      if (list === undefined) bySequence.set(sequence, [each]);
      else list.push(each);
    });
    for (const [sequence, sampled] of bySequence) {
      const into = this.branch(sequence, step.record);
      if (into === null) continue;
      const before = into.size;
      into.insert(step.record, sampled);
      this.tokens += into.size - before;
    }
    return true;
  }

  // -- what the server tells ----------------------------------------------------------------------------------------

  /** Merge what the server tells of a request, as of a record. */
  merge(told: Told): void {
    const found = this.transcript(told.request);
    const { facts } = told;
    if (facts !== null) {
      const { precedence: _precedence, cacheSalt: _cacheSalt, ...known } = factsOf(facts);
      this.memory.learn(told.request, known);
    }
    found.submitted ??= told.submitted;
    if (told.prompt !== null && found.prompt === null) {
      found.prompt = told.prompt;
      this.tokens += told.prompt.length;
    }
    found.text ??= told.text;
    found.why = found.prompt === null ? told.why : null;
    found.ending ??= told.ending;
    found.submit ??= told.submit ?? null;
    for (const [first, last] of told.gaps) this.noteGap(first, last);
    for (const row of told.sequences) {
      this.memory.sequences.set(row.sequence, { request: told.request, index: row.index });
      const mine = found.branches.get(row.sequence);
      const made = new Branch(row.index, row.parent, row.created);
      (row.tokens ?? row.records.map(() => null)).forEach((token, i) => {
        made.push(row.records[i]!, token ?? LOST, row.logprobs?.[i] ?? null);
      });
      this.tokens += made.size;
      found.branches.set(row.sequence, made);
      // What was folded here since.
      if (mine !== undefined) made.take(mine, told.record);
      made.ending = row.ending ?? mine?.ending ?? null;
    }
    if (told.hypotheses !== undefined) found.hypotheses.merge(told.hypotheses, told.record);
    found.known = Math.max(found.known, told.record);
    this.shrink();
  }

  // -- memory ---------------------------------------------------------------------------------------------------------

  private drop(request: number): void {
    this.all.delete(request);
    this.dropped.add(request);
    this.droppedThrough = this.seen.list.at(-1)?.last ?? -1;
  }

  /** Drop all that is known of requests that are forgotten. */
  forget(requests: ReadonlySet<number>): void {
    for (const request of requests) {
      const found = this.all.get(request);
      if (found === undefined) continue;
      this.tokens -= sizeOf(found);
      this.drop(request);
    }
  }

  /** Past the bound, drop the requests that came first and that nobody looks at, until a quarter is free. */
  private shrink(): void {
    if (this.tokens <= this.limit) return;
    let kept = 0;
    for (const each of this.all.values()) kept += sizeOf(each);
    for (const [request, each] of this.all) {
      if (kept <= this.most * 0.75) break;
      const size = sizeOf(each);
      if (size === 0 || this.isWanted(request)) continue;
      kept -= size;
      this.drop(request);
    }
    this.tokens = kept;
    // What somebody looks at stays even past the bound: then it is not gone through again at each record.
    this.limit = Math.max(this.most, kept * 1.25);
  }
}

function sizeOf(transcript: Transcript): number {
  let sum = transcript.prompt?.length ?? 0;
  for (const each of transcript.branches.values()) sum += each.size;
  return sum;
}
