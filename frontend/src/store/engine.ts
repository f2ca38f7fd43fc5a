/** Control of the engine itself, apart from the view's transport: only where the engine allows it. */

import { computed, effect, signal } from '@preact/signals';
import type { Health } from '../ledger/generated/types';
import { text } from '../text';
import { behind, health, hello, isLive, link, status, tell } from './ledger';
import { answerOf, isObject, reasonOf, whyNone } from './reason';
import { say } from './remark';
import { apiUrl, current } from './sessions';

/** Is there an engine behind this page that could be controlled, whether or not it can be reached now? */
export const hasEngine = computed(() => isLive.value && (hello.value?.allow_control ?? false));
export const canControl = computed(
  () => link.value === 'open' && (hello.value?.allow_control ?? false) && (status.value?.linked ?? true),
);
/** Does the engine take prompts? Kvarium's own does, while it is connected. */
export const takesPrompts = computed(
  () =>
    link.value === 'open' &&
    status.value?.linked !== false &&
    (hello.value?.engine ?? '').startsWith('kvarium'),
);
/** What was asked and granted, until the engine says so itself. */
interface Wish {
  readonly held: boolean;
  /** When the engine said last what it does, ns of the session; null: it did not yet. */
  readonly told: number | null;
  /** Did it say otherwise since? It may have before it was asked, and once only: the next time counts. */
  readonly contradicted: boolean;
}
const asked = signal<Wish | null>(null);
/** Does it take no step of its own, nor go on to one that was asked for? */
const holds = ({ held, run_to }: Health): boolean => (held ?? false) && (run_to ?? null) === null;
effect(() => {
  const told = health.value;
  const wish = asked.peek();
  if (wish === null || told?.time === wish.told) return;
  const isOver = told === null || holds(told) === wish.held || wish.contradicted;
  asked.value = isOver ? null : { ...wish, told: told.time, contradicted: true };
});
export const held = computed(
  () => link.value === 'open' && (asked.value?.held ?? (health.value !== null && holds(health.value))),
);
export const engineError = signal<string | null>(null);
/** Has the engine a prefix cache that can be reset? */
export const canReset = computed(
  () => takesPrompts.value && hello.value?.config?.enable_prefix_caching !== false,
);

/** What the engine, or the server in its place, answered. */
export type Answer<T> = { readonly result: T } | { readonly error: string };

/** Ask something of the session's engine; never throws. */
export async function ask<T>(name: string, args: Record<string, unknown> = {}): Promise<Answer<T>> {
  const session = current.peek();
  return session === null ? { error: text.playground.noAnswer } : askOf(session.id, name, args);
}

/** Ask something of any session's engine; never throws. */
export async function askOf<T>(
  session: string,
  name: string,
  args: Record<string, unknown>,
): Promise<Answer<T>> {
  try {
    const response = await fetch(apiUrl(`sessions/${encodeURIComponent(session)}/commands`), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, args }),
    });
    if (!response.ok) return { error: await reasonOf(response) };
    return { result: (await answerOf<{ result: T }>(response, { result: isObject })).result };
  } catch (error) {
    return { error: whyNone(error, text.playground.noAnswer) };
  }
}

async function command(name: string, args: Record<string, unknown> = {}): Promise<boolean> {
  engineError.value = null;
  const answer = await ask(name, args);
  if ('error' in answer) engineError.value = answer.error;
  return 'result' in answer;
}

export async function holdOrRelease(): Promise<void> {
  if (!canControl.peek()) return;
  const hold = !held.peek();
  if (await command(hold ? 'hold' : 'release'))
    asked.value = { held: hold, told: health.peek()?.time ?? null, contradicted: false };
}

export async function stepEngine(): Promise<void> {
  if (!canControl.peek() || !held.peek()) return;
  // Who looks at the step in which it stopped sees the next one; who looks at an earlier one is not taken away from it.
  const isLast = behind.peek() === 0;
  if ((await command('step', { steps: 1 })) && isLast) tell({ kind: 'follow' });
}

export async function resetPrefixCache(): Promise<void> {
  if (!canReset.peek()) return;
  const answer = await ask<{ blocks: number }>('reset_prefix_cache');
  if ('error' in answer) say(text.engine.notReset(answer.error), true);
  else say(text.engine.reset(answer.result.blocks));
}
