/**
 * A toy talk for tests: requests whose sequences sample random tokens, fork and are answers, as step and text records,
 * beside what each sequence had said after each record, kept as plain lists.
 */

import type { AnyRecord } from '../src/ledger/fold';
import type { Digest, Step, Text } from '../src/ledger/generated/types';
import { RequestMemory } from '../src/ledger/requests';
import type { Answer } from '../src/worker/hypotheses';
import type { Told } from '../src/worker/transcripts';
import { random } from './toy';

const NO_DIGEST = {} as Digest;
const bytes = (values: readonly number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);

export interface Voice {
  readonly sequence: number;
  readonly request: number;
  readonly index: number;
  readonly parent: number | null;
  readonly created: number;
  readonly prompt: readonly number[];
  /** All tokens, with what it took over, and the record of each. */
  readonly tokens: number[];
  readonly records: number[];
  /** How many of them it took over. */
  readonly taken: number;
}

export interface Talk {
  readonly records: readonly AnyRecord[];
  readonly voices: readonly Voice[];
  readonly ended: ReadonlyMap<number, number>;
  readonly submitted: ReadonlyMap<number, number>;
  readonly memory: RequestMemory;
  /** The answers of a request up to a record, the best first. */
  answers(request: number, record: number): Answer[];
  /** What the server would tell of a request, as of a record. */
  told(request: number, record: number): Told;
}

export function talk(seed: number, steps: number): Talk {
  const next = random(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  const records: AnyRecord[] = [{ type: 'keyframe', record: 0, audited: true } as AnyRecord];
  const voices: Voice[] = [];
  const ended = new Map<number, number>();
  const submitted = new Map<number, number>();
  const memory = new RequestMemory();
  const found: (Answer & { request: number })[] = [];
  const chance = random(seed + 1);
  let requests = 0;
  for (let step = 0; step < steps; step++) {
    const record = records.length;
    const decisions: NonNullable<Step['decisions']> = [];
    const prompts: NonNullable<Text['prompts']> = [];
    const create = (
      request: number,
      index: number,
      parent: Voice | null,
      prompt: readonly number[],
    ): void => {
      const sequence = voices.length;
      const taken = parent?.tokens.length ?? 0;
      voices.push({
        ...{ sequence, request, index, parent: parent?.sequence ?? null, created: record, prompt, taken },
        tokens: parent?.tokens.slice() ?? [],
        records: parent?.records.slice() ?? [],
      });
      memory.sequences.set(sequence, { request, index });
      decisions.push({
        kind: 'sequence_created',
        op: 0,
        request,
        sequence,
        index,
        parent: parent?.sequence ?? null,
      });
    };
    const living = voices.filter((voice) => !ended.has(voice.request));
    const answering = chance() < 0.3 ? living[Math.floor(chance() * living.length)] : undefined;
    if (answering !== undefined) {
      const { request, sequence, tokens: said } = answering;
      const [token, score, reason] = [Math.floor(chance() * 9), -Math.floor(chance() * 5), 'stop' as const];
      found.push({ request, rank: 0, sequence, score, reason, record, step, tokens: [...said, token] });
      decisions.push({
        kind: 'hypothesis',
        op: 0,
        request,
        sequence,
        tokens: said.length,
        score,
        reason,
        token,
      });
    }
    if (next() < 0.3) {
      const request = requests++;
      const prompt = Array.from({ length: 1 + below(5) }, () => below(1000));
      submitted.set(request, record);
      prompts.push({ request, tokens: bytes(prompt), text: null });
      decisions.push({
        ...{ kind: 'submitted', op: 0, request, name: `q${request}` },
        ...{ prompt_tokens: prompt.length, max_tokens: 9 },
      } as never);
      create(request, 0, null, prompt);
    }
    for (const voice of living) {
      if (next() > 0.15) continue;
      const index = voices.filter((each) => each.request === voice.request).length;
      create(voice.request, index, voice, voice.prompt);
    }
    const speaking = voices.filter((voice) => !ended.has(voice.request) && next() < 0.7);
    const tokens = speaking.map(() => below(1000));
    speaking.forEach((voice, i) => {
      voice.tokens.push(tokens[i]!);
      voice.records.push(record);
    });
    for (const request of new Set(living.map((voice) => voice.request))) {
      if (next() > 0.08) continue;
      ended.set(request, record);
      decisions.push({ kind: 'finished', op: 0, request, reason: 'length' });
    }
    const sampled = bytes(speaking.map((voice) => voice.sequence));
    const base = { time: 0, sealed: 0, op: 0, digest: NO_DIGEST };
    records.push({ type: 'step', record, step, ...base, decisions, sampled });
    records.push({ type: 'text', record: record + 1, step, prompts, sampled: bytes(tokens) });
  }
  const answers = (request: number, record: number): Answer[] =>
    found
      .filter((each) => each.request === request && each.record <= record)
      .sort((a, b) => b.score - a.score)
      .map(({ request: _, ...each }, rank) => ({ ...each, rank }));
  const told = (request: number, record: number): Told => {
    const own = voices.filter((voice) => voice.request === request && voice.created <= record);
    const end = ended.get(request);
    return {
      request,
      record,
      submitted: submitted.get(request)!,
      facts: null,
      ending:
        end === undefined || end > record
          ? null
          : { record: end, step: 0, kind: 'finished', reason: 'length', message: null },
      prompt: own[0]?.prompt ?? null,
      text: null,
      why: null,
      gaps: [],
      sequences: own.map((voice) => {
        const { sequence, index, parent, created } = voice;
        const mine = voice.records.flatMap((at, i) => (i >= voice.taken && at <= record ? [i] : []));
        return {
          ...{ sequence, index, parent, created },
          tokens: mine.map((i) => voice.tokens[i]!),
          records: mine.map((i) => voice.records[i]!),
        };
      }),
      hypotheses: answers(request, record),
    };
  };
  return { records, voices, ended, submitted, memory, answers, told };
}
