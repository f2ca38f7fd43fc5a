/** The scheduler: who waits, in order and why; and what the present step did. */

import type { Fold } from '../../ledger/fold';
import { Operation } from '../../ledger/generated/constants';
import type { Hello, Step } from '../../ledger/generated/types';
import type { Reason } from '../../ledger/requests';
import { movesAt } from '../moves';
import { type CopyMade, copiesAt, partOf } from '../operation';

export interface WaitingRow {
  readonly request: number;
  readonly name: string;
  readonly state: 'waiting' | 'preempted';
  readonly prompt: number;
  readonly reason: Reason | null;
}

export interface StepSummary {
  readonly step: number;
  readonly tokens: number;
  readonly budget: number;
  readonly prefill: number;
  readonly decode: number;
  readonly sampled: number;
  readonly operations: Record<keyof typeof Operation, number>;
  /** ns: schedule, forward, sample, seal. */
  readonly times: readonly [number, number, number, number];
  /** Chunks of prefills that were computed. */
  readonly chunks: readonly { request: number; start: number; tokens: number }[];
  readonly admitted: readonly { request: number; tokens: number; hit: number }[];
  readonly preempted: readonly { request: number; for: number; blocks: number; tokens: number }[];
  readonly ended: readonly { request: number; how: string }[];
  readonly copies: readonly (CopyMade & { readonly request: number; readonly label: string })[];
  /** Blocks that lost their content, the first ones. */
  readonly evicted: readonly number[];
}

export interface SchedulerAnswer {
  readonly waiting: readonly WaitingRow[];
  readonly waitingTotal: number;
  readonly running: number;
  readonly maxRunning: number | null;
  readonly step: StepSummary | null;
}

const ROWS = 200;

/** What of a step the operations tell beside their number. */
interface Told {
  readonly copies: StepSummary['copies'];
  readonly evicted: readonly number[];
}

export function summary(step: Step, { copies, evicted }: Told): StepSummary {
  const counts = new Array<number>(10).fill(0);
  for (const kind of step.operations?.kind ?? []) if (kind < counts.length) counts[kind]!++;
  const admitted: StepSummary['admitted'][number][] = [];
  const preempted: StepSummary['preempted'][number][] = [];
  const ended: StepSummary['ended'][number][] = [];
  const chunks: StepSummary['chunks'][number][] = [];
  let prefill = 0;
  for (const d of step.decisions ?? []) {
    if (d.kind === 'scheduled') {
      prefill += d.tokens;
      chunks.push({ request: d.request, start: d.start, tokens: d.tokens });
    } else if (d.kind === 'admitted')
      admitted.push({ request: d.request, tokens: d.tokens, hit: d.hit ?? 0 });
    else if (d.kind === 'preempted') {
      preempted.push({ request: d.request, for: d.victim_of, blocks: d.blocks, tokens: d.tokens });
    } else if (d.kind === 'finished') ended.push({ request: d.request, how: d.reason });
    else if (d.kind === 'aborted') ended.push({ request: d.request, how: 'aborted' });
    else if (d.kind === 'refused') ended.push({ request: d.request, how: 'refused' });
  }
  const tokens = step.tokens ?? 0;
  return {
    step: step.step,
    tokens,
    budget: step.budget ?? 0,
    prefill,
    decode: Math.max(0, tokens - prefill),
    sampled: (step.sampled?.length ?? 0) >> 2,
    operations: Object.fromEntries(
      Object.entries(Operation).map(([name, code]) => [name, counts[code]!]),
    ) as StepSummary['operations'],
    times: [step.schedule_ns ?? 0, step.forward_ns ?? 0, step.sample_ns ?? 0, step.seal_ns ?? 0],
    chunks,
    admitted,
    preempted,
    ended,
    copies,
    evicted,
  };
}

export function schedulerAnswer(fold: Fold, hello: Hello, current: Step | null): SchedulerAnswer {
  const { requests } = fold;
  const told = (): Told => ({
    copies: copiesAt(current, fold).map((copy) => ({
      ...copy,
      request: requests.memory.requestOf(copy.sequence),
      label: requests.memory.label(copy.sequence),
    })),
    evicted: movesAt(current, fold)?.evicted ?? [],
  });
  const waiting: (WaitingRow & { precedence: number; place: number })[] = [];
  let running = 0;
  for (const [request, row] of requests.rows) {
    if (row.state === 'running') {
      running++;
      continue;
    }
    const facts = requests.facts.get(request);
    waiting.push({
      request,
      name: facts?.name ?? '',
      state: row.state,
      prompt: facts?.promptTokens ?? 0,
      reason: requests.reason(request),
      precedence: facts?.precedence ?? 0,
      place: row.place,
    });
  }
  waiting.sort((a, b) => a.precedence - b.precedence || a.place - b.place);
  const limit = hello.config?.max_num_seqs;
  return {
    waiting: waiting.slice(0, ROWS),
    waitingTotal: waiting.length,
    running,
    maxRunning: typeof limit === 'number' ? limit : null,
    step: current === null || current.step !== fold.step ? null : summary(partOf(current, fold), told()),
  };
}
