/**
 * The playground: what is being written, what was sent from this page, and the sending.
 *
 * Fields are kept as they were typed, so that nothing is lost whatever happens. They and what was sent are kept for the
 * session (in the browser tab), so that they are still there when the page is loaded again.
 */

import { computed, effect, signal } from '@preact/signals';
import { text } from '../text';
import type { Part } from '../wording/playground';
import { follow } from './clock';
import { ask } from './engine';
import {
  argumentsOf,
  DEFAULTS,
  type Engine,
  FIELDS,
  type Field,
  faultOf,
  fieldNamed,
  type Typed,
} from './fields';
import { left } from './layout';
import { hello, position, wantRequests } from './ledger';
import { selectRequest } from './selection';
import { current } from './sessions';

export interface Draft extends Typed {
  readonly prompt: string;
  readonly system: string;
  readonly chat: boolean;
  /** The request whose conversation goes on, and what of it. */
  readonly follow: number | null;
  readonly followed: Part;
}

const EMPTY: Draft = { ...DEFAULTS, prompt: '', system: '', chat: true, follow: null, followed: 'all' };

export interface Sent {
  readonly request: number;
  readonly prompt: string;
  readonly chat: boolean;
  readonly follow: number | null;
  readonly followed?: Part;
}

/** So many of what was sent are shown. */
const MOST = 24;

export const draft = signal<Draft>(EMPTY);
export const sending = signal(false);
/** Why the last sending failed, until the next one. */
export const sendError = signal<string | null>(null);
/** What is wrong with fields, by their names: as they were left, or as the engine said. */
export const faults = signal<Readonly<Partial<Record<Field, string>>>>({});
/** The newest first. */
export const sent = signal<readonly Sent[]>([]);
/** Has the model a chat template? Then a prompt is a user's message unless it is asked to be taken as it is. */
export const hasChat = computed(() => hello.value?.config?.chat_template === true);

export const engine = computed<Engine>(() => ({
  runner: hello.value?.runner ?? '',
  config: hello.value?.config ?? {},
}));

export function edit(change: Partial<Draft>): void {
  draft.value = { ...draft.peek(), ...change };
  // What is being changed is wrong no more until it is left.
  const kept = Object.entries(faults.peek()).filter(([field]) => !(field in change));
  if (kept.length < Object.keys(faults.peek()).length) faults.value = Object.fromEntries(kept);
}

/** A field was left: say what is wrong with it. */
export function check(field: Field): void {
  const fault = faultOf(field, draft.peek(), engine.peek());
  if (fault !== null) faults.value = { ...faults.peek(), [field]: fault };
}

/** All fields of a request as they were at the beginning. */
export function resetFields(): void {
  edit(DEFAULTS);
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

/** What the engine is asked; null: something is wrong, and said. */
function argsOf(from: Draft, chat: boolean): Record<string, unknown> | null {
  const wrong = FIELDS.flatMap((field) => {
    const fault = faultOf(field, from, engine.peek());
    return fault === null ? [] : [[field, fault] as const];
  });
  faults.value = Object.fromEntries(wrong);
  if (wrong.length > 0) return null;
  if (from.prompt.trim() === '') {
    sendError.value = text.playground.noPrompt;
    return null;
  }
  const args: Record<string, unknown> = { prompt: from.prompt, ...argumentsOf(from, engine.peek()) };
  if (!chat) return args;
  args.chat = true;
  if (from.follow !== null) args.follow = from.follow;
  else if (from.system.trim() !== '') args.system = from.system;
  return args;
}

/** The engine, or the server in its place, did not take it: its words stand at the field that they name. */
function complain(error: string): void {
  const field = fieldNamed(error);
  if (field === null) sendError.value = error;
  else faults.value = { [field]: error };
}

export async function send(): Promise<void> {
  if (sending.peek()) return;
  const from = draft.peek();
  const chat = hasChat.peek() && (from.chat || from.follow !== null);
  sendError.value = null;
  const args = argsOf(from, chat);
  if (args === null) return;
  sending.value = true;
  const session = current.peek()?.id;
  const answer = await ask<Accepted>('submit', args);
  sending.value = false;
  if (current.peek()?.id !== session) return;
  if ('error' in answer) {
    complain(answer.error);
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

function keyOf(what: 'sent' | 'fields', session: string): string {
  return `kvarium.${what}.${session}`;
}

function stored(what: 'sent' | 'fields', session: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(what, session)) ?? 'null');
  } catch {
    return null;
  }
}

function store(what: 'sent' | 'fields', session: string, value: unknown): void {
  try {
    sessionStorage.setItem(keyOf(what, session), JSON.stringify(value));
  } catch {
    // A page without storage forgets it, and that is all.
  }
}

function storedSent(session: string): readonly Sent[] {
  const found = stored('sent', session);
  return Array.isArray(found) ? (found as Sent[]) : [];
}

function storedFields(session: string): Typed {
  const found = (stored('fields', session) ?? {}) as Record<string, unknown>;
  const typed = FIELDS.map((field) => [field, found[field]] as const).filter(
    ([, said]) => typeof said === 'string',
  );
  return { ...DEFAULTS, ...Object.fromEntries(typed) };
}

function fieldsOf(from: Draft): Typed {
  return Object.fromEntries(FIELDS.map((field) => [field, from[field]])) as Typed;
}

export function startPlayground(): void {
  let open: string | null = null;
  effect(() => {
    const session = current.value?.id ?? null;
    if (session === open) return;
    open = session;
    sendError.value = null;
    faults.value = {};
    recalled = -1;
    sent.value = session === null ? [] : storedSent(session);
    edit({ ...(session === null ? {} : storedFields(session)), follow: null });
  });
  effect(() => {
    const fields = fieldsOf(draft.value);
    if (open !== null) store('fields', open, fields);
  });
  effect(() => {
    const list = sent.value;
    wantRequests.value = left.value === 'playground' ? list.map((each) => each.request) : [];
    if (open !== null && list.length > 0) store('sent', open, list);
  });
}
