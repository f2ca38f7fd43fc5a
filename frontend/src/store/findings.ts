/**
 * The findings of the session that is open (docs/findings.md): asked for when their panel is opened first, and again when
 * its reader says so. They outlive the panel, and go with the session.
 */

import { effect, signal } from '@preact/signals';
import { type Answered, askFor, isGone } from './answers';
import { whenBack } from './back';
import type { Finding, Findings, LookedFor } from './generated/answers';
import { current } from './sessions';

export type Found =
  | { readonly state: 'none' }
  /** `began`: as `performance.now()` tells it. */
  | { readonly state: 'asking'; readonly began: number }
  | { readonly state: 'told'; readonly answer: Findings }
  | Extract<Answered<Findings>, { state: 'failed' }>;

export const found = signal<Found>({ state: 'none' });

let abort: AbortController | null = null;

/** Look through the whole recording. An answer that comes after it was given up is nobody's. */
export async function look(): Promise<void> {
  if (found.peek().state === 'asking') return;
  const asked = new AbortController();
  abort = asked;
  found.value = { state: 'asking', began: performance.now() };
  const answer = await askFor<Findings>('findings', asked.signal);
  if (abort !== asked || answer.state === 'asking') return;
  abort = null;
  found.value = answer;
  if (isGone(answer)) whenBack('findings', () => void (found.peek() === answer && look()));
}

/** Give up what is asked for. */
export function giveUp(): void {
  abort?.abort();
  abort = null;
  found.value = { state: 'none' };
}

/** The faults of production, by symptom, in the order of docs/findings.md; null: of none of them. */
export const FAULTS = [
  'out of memory at gpu_memory_utilization',
  'long prompts slow under mixed load',
  'prefix cache off, or prefixes too short, or evicted between',
  'many short requests at a small or large block size',
  null,
] as const;

export interface Group {
  readonly fault: string | null;
  readonly findings: readonly Finding[];
  /** What was looked for, of this fault, and not found. */
  readonly without: readonly LookedFor[];
}

/** By the fault, those of which something was found first; one that this page does not know stands before those of none. */
export function grouped({ findings, looked_for }: Findings): Group[] {
  const known: readonly (string | null)[] = FAULTS;
  const others = looked_for.map(({ fault }) => fault).filter((fault) => !known.includes(fault));
  const faults = [...FAULTS.slice(0, -1), ...new Set(others), null];
  const kinds = new Set(findings.map(({ kind }) => kind));
  const groups = faults.map((fault) => ({
    fault,
    findings: findings.filter((each) => each.fault === fault),
    without: looked_for.filter((each) => each.fault === fault && !kinds.has(each.kind)),
  }));
  return groups.sort((a, b) => Number(b.findings.length > 0) - Number(a.findings.length > 0));
}

/** With its session goes what was found in it. */
export function startFindings(): void {
  let open: string | null = null;
  effect(() => {
    const id = current.value?.id ?? null;
    if (id === null || id === open) return;
    open = id;
    giveUp();
  });
}
