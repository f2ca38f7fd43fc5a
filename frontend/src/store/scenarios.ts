/** The scenarios that the server can start: which there are, which one runs, and starting one. */

import { signal } from '@preact/signals';
import { text } from '../text';
import { isEmbedded } from './embedded';
import { answerOf, isArray, isObject, isText, orNull, reasonOf, whyNone } from './reason';
import { clearSelection } from './selection';
import { apiUrl, loadSessions, openSession } from './sessions';

export interface Programme {
  readonly scenarios: readonly string[];
  /** null: they can be started. */
  readonly why_not: string | null;
  readonly running: { readonly name: string; readonly session: string | null } | null;
}

/** null: not asked yet. */
export const programme = signal<Programme | null>(null);
export const chosen = signal<string | null>(null);
export const starting = signal(false);
/** Why the last one was not started. */
export const startError = signal<string | null>(null);

export async function loadProgramme(): Promise<void> {
  if (isEmbedded) return;
  try {
    const response = await fetch(apiUrl('scenarios'));
    if (response.ok)
      programme.value = await answerOf<Programme>(response, {
        scenarios: isArray,
        why_not: orNull(isText),
        running: orNull(isObject),
      });
  } catch {
    // The server does not answer: the page says so where it matters.
  }
}

/** Show a session that a scenario is recorded as. */
export async function watch(id: string): Promise<void> {
  const found = (await loadSessions()).find((each) => each.id === id);
  if (found === undefined) return;
  clearSelection();
  openSession(found, null);
}

/** Start a scenario and show it. */
export async function startScenario(name: string): Promise<void> {
  if (starting.peek()) return;
  starting.value = true;
  startError.value = null;
  try {
    const response = await fetch(apiUrl('scenarios'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });
    if (response.ok)
      await watch((await answerOf<{ session: string }>(response, { session: isText })).session);
    else startError.value = await reasonOf(response);
  } catch (error) {
    startError.value = whyNone(error, text.scenarios.noAnswer);
  }
  starting.value = false;
  await loadProgramme();
}
