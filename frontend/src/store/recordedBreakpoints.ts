/** The breakpoints that a session ended with, as its recording has them; and how one is set again, on an engine that runs. */

import { computed, signal } from '@preact/signals';
import type { Hit } from '../ledger/generated/types';
import { text } from '../text';
import { whenBack } from './back';
import { askOf } from './engine';
import { renderNow } from './layout';
import { answerOf, isArray, reasonOf, whyNone } from './reason';
import { say } from './remark';
import { apiUrl, current, listing, loadSessions, type SessionInfo } from './sessions';

export interface RecordedBreakpoint {
  readonly id: number;
  /** null: it is not recorded, as text is not. */
  readonly when: string | null;
  readonly hits: number;
  readonly mark: boolean;
  readonly enabled: boolean;
  /** How often it was met, when that was told of last. */
  readonly count: number;
  /** The hit that was told of last. */
  readonly last: Hit | null;
}

export type Recorded =
  | { readonly state: 'asking' }
  | { readonly state: 'told'; readonly breakpoints: readonly RecordedBreakpoint[] }
  | { readonly state: 'failed'; readonly why: string };

/** null: nobody looks at them. */
export const recorded = signal<Recorded | null>(null);

/** The session whose engine takes commands, on which one can be set again; null: there is none here. */
export const target = computed<SessionInfo | null>(() => {
  const { value } = listing;
  const known = value.state === 'loading' ? [] : value.sessions;
  return known.find((each) => each.state === 'live' && each.linked && each.allow_control) ?? null;
});

async function asked(session: string): Promise<Recorded> {
  try {
    const response = await fetch(apiUrl(`sessions/${encodeURIComponent(session)}/breakpoints`));
    if (!response.ok) return { state: 'failed', why: await reasonOf(response) };
    const { breakpoints } = await answerOf<{ breakpoints: RecordedBreakpoint[] }>(response, {
      breakpoints: isArray,
    });
    return { state: 'told', breakpoints };
  } catch (error) {
    return { state: 'failed', why: whyNone(error, text.scenarios.noAnswer) };
  }
}

export async function showRecorded(): Promise<void> {
  const session = current.peek();
  if (session === null) return;
  const asking: Recorded = { state: 'asking' };
  renderNow(() => {
    recorded.value = asking;
  });
  void loadSessions();
  const found = await asked(session.id);
  // It was closed meanwhile, or asked for again.
  if (recorded.peek() !== asking) return;
  recorded.value = found;
  if (found.state !== 'failed' || found.why !== text.scenarios.noAnswer) return;
  whenBack('breakpoints', () => {
    if (recorded.peek() === found) void showRecorded();
  });
}

export async function setAgain(
  { when, hits, mark, enabled }: RecordedBreakpoint,
  on: SessionInfo,
): Promise<void> {
  const answer = await askOf<{ breakpoint: number }>(on.id, 'break', { when, hits, mark });
  if ('error' in answer) {
    say(answer.error, true);
    return;
  }
  const { breakpoint } = answer.result;
  if (!enabled) await askOf(on.id, 'disable', { breakpoint });
  say(text.control.setAgain(breakpoint, on.name || on.id));
}
