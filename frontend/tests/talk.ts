/**
 * A toy talk for tests: requests whose sequences sample random tokens and fork, as step and text records, beside what
 * each sequence had said after each record, kept as plain lists.
 */

import type { AnyRecord } from '../src/ledger/fold';
import type { Digest, Logprobs, Step, Text } from '../src/ledger/generated/types';
import type { Likely } from '../src/ledger/logprobs';
import { RequestMemory } from '../src/ledger/requests';
import type { SequenceEnding, Told } from '../src/worker/told';
import { random } from './toy';

const NO_DIGEST = {} as Digest;
const bytes = (values: readonly number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);
const floats = (values: readonly number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

/** The columns of a text record: what some of its sampled tokens, by their places, are told to be like. */
export function columnsOf(told: readonly (readonly [place: number, likely: Likely])[]): Logprobs {
  return {
    sampled: bytes(told.map(([place]) => place)),
    logprob: floats(told.map(([, { logprob }]) => logprob)),
    rank: bytes(told.map(([, { rank }]) => rank)),
    count: bytes(told.map(([, { top }]) => top.length)),
    top_token: bytes(told.flatMap(([, { top }]) => top.map(([token]) => token))),
    top_logprob: floats(told.flatMap(([, { top }]) => top.map(([, logprob]) => logprob))),
  };
}

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
  /** How likely each was; null: its request did not ask. */
  readonly likely: (Likely | null)[];
  /** How many of them it took over. */
  readonly taken: number;
  ending: SequenceEnding | null;
}

/** A whole answer of a beam search. */
export interface Found {
  readonly request: number;
  readonly sequence: number;
  readonly score: number;
  readonly record: number;
  readonly tokens: readonly number[];
}

export interface Talk {
  readonly records: readonly AnyRecord[];
  readonly voices: readonly Voice[];
  /** In the order in which they were found. */
  readonly found: readonly Found[];
  readonly ended: ReadonlyMap<number, number>;
  readonly submitted: ReadonlyMap<number, number>;
  readonly memory: RequestMemory;
  /** What the server would tell of a request, as of a record. */
  told(request: number, record: number): Told;
}

function likelyOf(token: number, below: (limit: number) => number): Likely {
  const top = Array.from({ length: below(3) }, (_, i) => [below(1000), -i / 4] as const);
  // A quarter is told exactly in 32 bits, too.
  return { logprob: -token / 4, rank: 1 + below(5), top };
}

export function talk(seed: number, steps: number): Talk {
  const next = random(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  const records: AnyRecord[] = [{ type: 'keyframe', record: 0, audited: true } as AnyRecord];
  const voices: Voice[] = [];
  const found: Found[] = [];
  const ended = new Map<number, number>();
  const submitted = new Map<number, number>();
  const memory = new RequestMemory();
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
        likely: parent?.likely.slice() ?? [],
        ending: null,
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
    const isLiving = (voice: Voice): boolean => !ended.has(voice.request) && voice.ending === null;
    const living = voices.filter(isLiving);
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
    const speaking = voices.filter((voice) => isLiving(voice) && next() < 0.7);
    for (const voice of living) {
      if (next() > 0.1) continue;
      const token = below(1000);
      const score = -below(4);
      const { request, sequence } = voice;
      found.push({ request, sequence, score, record, tokens: [...voice.tokens, token] });
      decisions.push({
        ...{ kind: 'hypothesis', op: 0, request, sequence, score, reason: 'stop' },
        ...{ tokens: voice.tokens.length, token },
      });
    }
    const tokens = speaking.map(() => below(1000));
    // Every other request asks how likely its tokens were.
    const asked = speaking.flatMap((voice, place) =>
      voice.request % 2 === 0 ? [[place, likelyOf(tokens[place]!, below)] as const] : [],
    );
    speaking.forEach((voice, i) => {
      voice.tokens.push(tokens[i]!);
      voice.records.push(record);
      voice.likely.push(asked.find(([place]) => place === i)?.[1] ?? null);
    });
    for (const voice of living) {
      if (next() > 0.02) continue;
      const reason = (['stop', 'length', null] as const)[below(3)]!;
      const stop_reason = reason === 'stop' ? 'END' : null;
      voice.ending = { record, reason, stop_reason };
      const { request, sequence } = voice;
      decisions.push({ kind: 'sequence_dropped', op: 0, request, sequence, reason, stop_reason });
    }
    for (const request of new Set(living.map((voice) => voice.request))) {
      if (next() > 0.08) continue;
      ended.set(request, record);
      decisions.push({ kind: 'finished', op: 0, request, reason: 'length' });
    }
    const sampled = bytes(speaking.map((voice) => voice.sequence));
    const base = { time: 0, sealed: 0, op: 0, digest: NO_DIGEST };
    records.push({ type: 'step', record, step, ...base, decisions, sampled });
    records.push({
      type: 'text',
      record: record + 1,
      step,
      prompts,
      sampled: bytes(tokens),
      logprobs: columnsOf(asked),
    });
  }
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
          logprobs: mine.map((i) => voice.likely[i]!),
          ending: voice.ending !== null && voice.ending.record <= record ? voice.ending : null,
        };
      }),
      hypotheses: found
        .filter((each) => each.request === request && each.record <= record)
        .sort((a, b) => b.score - a.score)
        .map(({ sequence, score, record: at, tokens }) => ({
          ...{ sequence, score, reason: 'stop' as const, record: at, step: 0, tokens },
        })),
    };
  };
  return { records, voices, found, ended, submitted, memory, told };
}
