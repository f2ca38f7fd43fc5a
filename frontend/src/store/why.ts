/** Which question is asked of the recording, and the answer; in the address as `&why=evicted?op=9920`. */

import { batch, computed, effect, signal } from '@preact/signals';
import { Operation } from '../ledger/generated/constants';
import type { EventRow } from '../worker/answers/events';
import { keepInAddress } from './address';
import { type Answered, askFor, isGone } from './answers';
import { whenBack } from './back';
import { marks } from './compared';
import { isEmbedded } from './embedded';
import { selectedEvent } from './eventSteps';
import type { Answer } from './generated/answers';
import { block, findEvent, hello, position, request } from './ledger';
import { selection } from './selection';
import { current } from './sessions';
import { type Kind, linkOf, type Question, questionOf } from './whyQuestion';

/** null: the part is closed. */
export const question = signal<Question | null>(null);
/** An answer with what it answers: the one before stands until the next has come. */
export interface Reply {
  readonly question: Question;
  /** The last step that the page knew of when it was asked. */
  readonly askedAt: number;
  readonly began: number;
  readonly answered: Answered<Answer>;
}
export const reply = signal<Reply | null>(null);
/** Grows when the same is asked again. */
const asks = signal(0);

/** Open the part with a question, by its link (`why/evicted?op=9920`). */
export function showWhy(link: string): void {
  const asked = questionOf(link.replace(/^why\//, ''));
  if (asked === null) throw new Error(`this is no question: ${link}`);
  pose(asked);
}

export function pose(asked: Question): void {
  batch(() => {
    question.value = asked;
    asks.value++;
  });
}

export function closeWhy(): void {
  question.value = null;
}

/** The question's process is ended; what was asked stays, to be asked again. */
export function stopAsking(): void {
  abort?.abort();
}

// -- asking ---------------------------------------------------------------------------------------------------------------

let abort: AbortController | null = null;
const session = computed(() => (hello.value === null ? null : (current.value?.id ?? null)));

async function ask(asked: Question): Promise<void> {
  const mine = new AbortController();
  abort = mine;
  const told = (answered: Answered<Answer>): void => {
    if (abort === mine) reply.value = { question: asked, askedAt, began, answered };
  };
  // A page that loads knows of no step yet, but its session does.
  const last = position.peek().lastStep;
  const [askedAt, began] = [last < 0 ? (current.peek()?.last_step ?? last) : last, performance.now()];
  told({ state: 'asking' });
  const answered = await askFor<Answer>(`why/${linkOf(asked)}`, mine.signal);
  told(answered);
  if (isGone(answered)) {
    whenBack('why', () => {
      if (reply.peek()?.answered === answered) asks.value++;
    });
  }
}

effect(() => {
  const asked = question.value;
  void asks.value;
  abort?.abort();
  abort = null;
  if (asked === null || session.value === null) reply.value = null;
  else void ask(asked);
});

// A session is left: its questions are not those of the next one.
let open: string | null = null;
effect(() => {
  const id = current.value?.id ?? null;
  if (open !== null && id !== open) question.value = null;
  open = id;
});

keepInAddress({
  name: 'why',
  now: () => (question.value === null ? null : linkOf(question.value)),
  take: (said) => {
    const asked = said === null ? null : questionOf(said);
    const now = question.peek();
    if (asked === null || now === null || linkOf(asked) !== linkOf(now)) question.value = asked;
    return said === null || asked !== null;
  },
  isEntry: true,
});

// -- what fits ------------------------------------------------------------------------------------------------------------

const isEviction = (row: EventRow, of: number): boolean => row.kind === Operation.evict && row.block === of;

/** The step that is shown; undefined: none is yet, and the last one is meant. */
export function stepNow(): number | undefined {
  const { step, target } = position.peek();
  const at = target ?? step;
  return at < 0 ? undefined : at;
}

/** Of a block its last eviction as far as the view has come, or the one that is selected. */
async function eviction(of: number): Promise<Question> {
  const chosen = selectedEvent.peek();
  if (chosen !== null && isEviction(chosen, of)) return { kind: 'evicted', op: chosen.op };
  const life = block.peek();
  const rows = life?.block === of ? (life.biography?.rows.slice(0, life.biography.now) ?? []) : [];
  const last = rows.findLast((row) => isEviction(row, of));
  if (last !== undefined) return { kind: 'evicted', op: last.op };
  // A page that holds its answers has them by their operations.
  const found = isEmbedded ? await findEvent(`op:evict block:${of}`, 'earlier', null) : null;
  if (found !== null && !('fault' in found) && found.row !== null)
    return { kind: 'evicted', op: found.row.op };
  return { kind: 'evicted', block: of, step: stepNow() };
}

/** Of a request what fits its state: why it waits, why it was preempted, or else why its prefix missed. */
function ofRequest(of: number): Question {
  const known = request.peek()?.request === of ? request.peek() : null;
  const rows = known?.story?.rows.slice(0, known.story.now) ?? [];
  const wasPreempted = rows.some(({ kind }) => typeof kind !== 'number' && kind.kind === 'preempted');
  if (known?.state === 'waiting') return aboutRequest('waits', of);
  return aboutRequest(wasPreempted ? 'preempted' : 'missed', of);
}

/** A question about a request at the step that is shown; a miss is that of its first admission. */
export function aboutRequest(kind: 'preempted' | 'waits' | 'missed', of: number): Question {
  return { kind, of: `r${of}`, step: kind === 'missed' ? undefined : stepNow() };
}

export function aboutMemory(kind: 'memory' | 'leaks'): Question {
  const step = stepNow();
  if (kind === 'memory') return { kind, step };
  const baseline = marks.peek().A ?? 0;
  return { kind, baseline: Math.min(baseline, step ?? baseline), step };
}

export const aboutEviction = (op: number): Question => ({ kind: 'evicted', op });

/** The request that is selected, itself or by one of its sequences; null: none is, or it is not known yet. */
export function selectedRequest(): number | null {
  const { request: chosen, sequence } = selection.peek();
  return chosen ?? (sequence === null ? null : (request.peek()?.request ?? null));
}

/** Ask a question of what is selected. */
export async function askOf(kind: Kind): Promise<void> {
  const { block: chosen } = selection.peek();
  const of = selectedRequest();
  if (kind === 'memory' || kind === 'leaks') pose(aboutMemory(kind));
  else if (kind === 'evicted') {
    if (chosen !== null) pose(await eviction(chosen));
  } else if (of !== null) pose(aboutRequest(kind, of));
}

/** Ask what fits the selection; what is asked already is closed. */
export async function askWhy(): Promise<void> {
  const asked = await fitting();
  const now = question.peek();
  if (now !== null && linkOf(now) === linkOf(asked)) closeWhy();
  else pose(asked);
}

async function fitting(): Promise<Question> {
  const chosen = selectedEvent.peek();
  const { block: selected } = selection.peek();
  const of = selectedRequest();
  if (chosen !== null && typeof chosen.kind !== 'number' && chosen.kind.kind !== 'gap') {
    const asked = ofEvent(chosen);
    if (asked !== null && of === chosen.kind.request) return asked;
  }
  if (selected !== null) return eviction(selected);
  return of === null ? aboutMemory('memory') : ofRequest(of);
}

/** What an event lets ask; null: nothing. */
export function ofEvent(row: EventRow): Question | null {
  if (typeof row.kind === 'number')
    return row.kind === Operation.evict ? { kind: 'evicted', op: row.op } : null;
  const { kind } = row.kind;
  const asks = { preempted: 'preempted', waiting: 'waits', admitted: 'missed' } as const;
  if (kind !== 'preempted' && kind !== 'waiting' && kind !== 'admitted') return null;
  return { kind: asks[kind], of: `r${row.kind.request}`, step: row.step };
}
