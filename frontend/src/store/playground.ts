/**
 * The playground: what is being written, what was sent from this page, and the sending.
 *
 * Fields are kept as they were typed, so that nothing is lost whatever happens. What was sent is kept for the session
 * (in the browser tab), so that it is still there when the page is loaded again.
 */

import { computed, effect, signal } from '@preact/signals';
import { text } from '../text';
import { follow } from './clock';
import { ask } from './engine';
import { left } from './layout';
import { hello, position, wantRequests } from './ledger';
import { selectRequest } from './selection';
import { current } from './sessions';

export const FIELDS = ['n', 'max_tokens', 'temperature', 'top_k', 'top_p', 'seed', 'priority'] as const;
export type Field = (typeof FIELDS)[number];

export interface Draft extends Readonly<Record<Field, string>> {
  readonly prompt: string;
  readonly system: string;
  readonly chat: boolean;
  readonly ignoreEos: boolean;
  /** The request whose conversation goes on, and how many samples it had. */
  readonly follow: number | null;
  readonly followed: number;
}

const EMPTY: Draft = {
  prompt: '',
  system: '',
  chat: true,
  ignoreEos: false,
  follow: null,
  followed: 1,
  n: '1',
  max_tokens: '64',
  temperature: '0.8',
  top_k: '',
  top_p: '',
  seed: '',
  priority: '',
};

export interface Sent {
  readonly request: number;
  readonly prompt: string;
  readonly chat: boolean;
  readonly follow: number | null;
  readonly followed?: number;
}

/** So many of what was sent are shown. */
const MOST = 24;

export const draft = signal<Draft>(EMPTY);
export const sending = signal(false);
/** Why the last sending failed, until the next one. */
export const sendError = signal<string | null>(null);
/** The newest first. */
export const sent = signal<readonly Sent[]>([]);
/** Has the model a chat template? Then a prompt is a user's message unless it is asked to be taken as it is. */
export const hasChat = computed(() => hello.value?.config?.chat_template === true);

export function edit(change: Partial<Draft>): void {
  draft.value = { ...draft.value, ...change };
}

// -- what was typed before ------------------------------------------------------------------------------------------

/** How far back the prompt in the field was brought from; -1: it is a new one. */
let recalled = -1;

/** Bring back an older (1) or a newer (-1) prompt, where the field is empty or shows one unchanged. True: done. */
export function recall(direction: 1 | -1): boolean {
  const { prompt } = draft.peek();
  const prompts = sent.peek().map((each) => each.prompt);
  const at = prompt === '' ? -1 : recalled;
  if (prompt !== '' && (at < 0 || prompts[at] !== prompt)) return false;
  const next = at + direction;
  if (next < -1 || next >= prompts.length) return false;
  recalled = next;
  edit({ prompt: prompts[next] ?? '' });
  return true;
}

// -- sending ----------------------------------------------------------------------------------------------------------

interface Accepted {
  readonly request: number;
  readonly refused: boolean;
}

interface Bounds {
  readonly whole: boolean;
  readonly fits: (value: number) => boolean;
  /** The bounds in words. */
  readonly rule: string;
}

/** What each field may be; an engine with `seats` sequences at once takes no more samples than that. */
function boundsOf(field: Field, seats: unknown): Bounds {
  const { rules } = text.playground;
  const whole = (low: number, high: number): Bounds => ({
    whole: true,
    fits: (value) => value >= low && value <= high,
    rule: high >= 2 ** 31 ? rules.wholeFrom(low) : rules.whole(low, high),
  });
  switch (field) {
    case 'n':
      return whole(1, Math.min(64, typeof seats === 'number' ? seats : 64));
    case 'max_tokens':
      return whole(1, 2 ** 31);
    case 'top_k':
    case 'seed':
      return whole(0, 2 ** 31);
    case 'priority':
      return whole(-1_000_000, 1_000_000);
    case 'temperature':
      return { whole: false, fits: (value) => value >= 0, rule: rules.temperature };
    case 'top_p':
      return { whole: false, fits: (value) => value > 0 && value <= 1, rule: rules.topP };
  }
}

/** What the engine is asked, or what is wrong with it. */
export function argsOf(from: Draft, chat: boolean): Record<string, unknown> | string {
  if (from.prompt.trim() === '') return text.playground.noPrompt;
  const args: Record<string, unknown> = { prompt: from.prompt };
  for (const field of FIELDS) {
    const typed = from[field].trim().replace(',', '.');
    if (typed === '') continue;
    const value = Number(typed);
    const bounds = boundsOf(field, hello.peek()?.config?.max_num_seqs);
    if (!Number.isFinite(value) || (bounds.whole && !Number.isInteger(value)) || !bounds.fits(value)) {
      const said = Number.isFinite(value) ? from[field].trim() : `“${from[field].trim()}”`;
      return text.playground.mustBe(text.playground.fields[field], bounds.rule, said);
    }
    args[field] = value;
  }
  if (from.ignoreEos) args.ignore_eos = true;
  if (!chat) return args;
  args.chat = true;
  if (from.follow !== null) args.follow = from.follow;
  else if (from.system.trim() !== '') args.system = from.system;
  return args;
}

export async function send(): Promise<void> {
  if (sending.peek()) return;
  const from = draft.peek();
  const chat = hasChat.peek() && (from.chat || from.follow !== null);
  const args = argsOf(from, chat);
  if (typeof args === 'string') {
    sendError.value = args;
    return;
  }
  sending.value = true;
  sendError.value = null;
  const session = current.peek()?.id;
  const answer = await ask<Accepted>('submit', args);
  sending.value = false;
  if (current.peek()?.id !== session) return;
  if ('error' in answer) {
    sendError.value = answer.error;
    return;
  }
  const { request, refused } = answer.result;
  sent.value = [
    { request, prompt: from.prompt, chat, follow: chat ? from.follow : null, followed: from.followed },
    ...sent.peek(),
  ].slice(0, MOST);
  // What was refused stays, to be changed. So does what was typed meanwhile.
  if (!refused && draft.peek().prompt === from.prompt) edit({ prompt: '', follow: null });
  recalled = -1;
  if (position.peek().mode !== 'follow') follow();
  selectRequest(request);
}

export async function abort(request: number): Promise<void> {
  sendError.value = null;
  const answer = await ask('abort', { request });
  if ('error' in answer) sendError.value = answer.error;
}

// -- a session's own ----------------------------------------------------------------------------------------------------

function keyOf(session: string): string {
  return `kvarium.sent.${session}`;
}

function stored(session: string): readonly Sent[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(keyOf(session)) ?? '[]');
    return Array.isArray(found) ? (found as Sent[]) : [];
  } catch {
    return [];
  }
}

export function startPlayground(): void {
  let open: string | null = null;
  effect(() => {
    const session = current.value?.id ?? null;
    if (session === open) return;
    open = session;
    sendError.value = null;
    recalled = -1;
    sent.value = session === null ? [] : stored(session);
    edit({ follow: null });
  });
  effect(() => {
    const list = sent.value;
    wantRequests.value = left.value === 'playground' ? list.map((each) => each.request) : [];
    if (open === null || list.length === 0) return;
    try {
      sessionStorage.setItem(keyOf(open), JSON.stringify(list));
    } catch {
      // A page without storage forgets it, and that is all.
    }
  });
}
