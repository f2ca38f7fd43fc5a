/** The sessions that the server knows, and which one is open. */

import { signal } from '@preact/signals';
import type { Destination } from '../worker/place';
import { embedded, isEmbedded } from './embedded';
import { closeLedger, openLedger, position } from './ledger';
import { answerOf, isArray, reasonOf, whyNone } from './reason';
import { clearSelection, type Selection, selection } from './selection';
import { readWish } from './wish';

export interface SessionInfo {
  readonly id: string;
  readonly name: string;
  readonly state: 'live' | 'ended' | 'interrupted';
  readonly linked: boolean;
  readonly started_utc_us: number;
  readonly duration_ns: number;
  readonly engine: string;
  readonly model: string;
  readonly runner: string;
  readonly device: string;
  readonly num_blocks: number;
  readonly block_size: number;
  readonly records: number;
  readonly operations: number;
  readonly steps: number;
  readonly last_record: number | null;
  readonly last_step: number | null;
  readonly bytes: number;
  /** What the recording takes, compressed. */
  readonly stored_bytes?: number;
  readonly gaps: number;
  readonly violations: number;
  readonly allow_control: boolean;
  /** A file that somebody brought: it is only read. */
  readonly imported?: boolean;
}

export type Listing =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly sessions: readonly SessionInfo[] }
  /** What was told before is still there; `reason` null: the server does not answer. */
  | {
      readonly state: 'failed';
      readonly reason: string | null;
      readonly sessions: readonly SessionInfo[];
    };

export const listing = signal<Listing>({ state: 'loading' });
/** The session that is open; null: the list is shown. */
export const current = signal<SessionInfo | null>(null);

/** The session that the address names and the server does not know. */
export const unknownSession = signal<string | null>(null);

export function apiUrl(path: string): string {
  return new URL(`api/${path}`, document.baseURI).href;
}

export async function loadSessions(): Promise<readonly SessionInfo[]> {
  if (isEmbedded) {
    const sessions = embedded === null ? [] : [embedded.session];
    listing.value = { state: 'ready', sessions };
    return sessions;
  }
  try {
    const response = await fetch(apiUrl('sessions'));
    if (!response.ok) return failed(await reasonOf(response));
    const { sessions } = await answerOf<{ sessions: SessionInfo[] }>(response, { sessions: isArray });
    listing.value = { state: 'ready', sessions };
    return sessions;
  } catch (error) {
    return failed(whyNone(error, null));
  }
}

function failed(reason: string | null): readonly SessionInfo[] {
  const before = listing.peek();
  listing.value = { state: 'failed', reason, sessions: before.state === 'loading' ? [] : before.sessions };
  return [];
}

/** How far the server's own engine is. */
export const engineState = signal<'none' | 'starting' | 'linked' | 'ended'>('none');
/** Why nothing can be changed here; null: it can. */
export const onlyRead = signal<string | null>(null);
/** Why the recording can't be written now, and what helps; null: it can. */
export const recordingFault = signal<{ readonly reason: string; readonly whatToDo: string } | null>(null);
/** Who came to the bare address while nothing was live is shown the first session that begins. */
let awaiting = false;

export function awaitFirst(): void {
  awaiting = true;
}

interface Health {
  readonly engine?: typeof engineState.value;
  readonly only_read?: string | null;
  readonly reason?: string;
  readonly what_to_do?: string;
}

/** The list anew, and the engine's state; opens the session that is awaited. */
export async function refreshLanding(): Promise<void> {
  try {
    const told = await answerOf<Health>(await fetch(apiUrl('health')), {});
    engineState.value = told.engine ?? 'none';
    onlyRead.value = told.only_read ?? null;
    recordingFault.value =
      told.reason === undefined ? null : { reason: told.reason, whatToDo: told.what_to_do ?? '' };
  } catch {
    engineState.value = 'none';
  }
  const live = (await loadSessions()).find((each) => each.state === 'live');
  if (awaiting && live !== undefined && current.peek() === null) openSession(live, null);
}

/** The size of the file that the open session is in, with all else that is in it; null: nobody asked. */
export const fileSize = signal<number | null>(null);

export async function loadFileSize(): Promise<void> {
  const open = current.peek();
  if (open === null || isEmbedded) return;
  try {
    const response = await fetch(apiUrl(`sessions/${encodeURIComponent(open.id)}`));
    const told = await answerOf<{ file_bytes?: number }>(response, {});
    if (current.peek()?.id === open.id) fileSize.value = told.file_bytes || null;
  } catch {
    // The server does not answer: the page says so where it matters.
  }
}

/** Open a session, somewhere; null: at the live end, or where it begins. */
export function openSession(info: SessionInfo, to: Destination | null): void {
  awaiting = false;
  newcomer.value = null;
  known.add(info.id);
  const { value } = listing;
  if (value.state === 'ready')
    for (const each of value.sessions) if (each.state === 'live') known.add(each.id);
  current.value = info;
  openedAt = to;
  fileSize.value = null;
  unknownSession.value = null;
  openLedger({
    id: info.id,
    live: info.state === 'live',
    to,
    lastStep: info.last_step ?? -1,
    lastRecord: info.last_record ?? -1,
    wish: readWish(location.search),
  });
}

/** Where the open session was opened. */
let openedAt: Destination | null = null;

/** Once more, where it failed. */
export function openAgain(): void {
  const info = current.peek();
  if (info !== null) openSession(info, openedAt);
}

/** The session that was open before the list was shown. */
let left: { info: SessionInfo; to: Destination | null; selection: Selection } | null = null;

/** From the list back to the session that was open. */
export function reopenSession(): void {
  if (left === null || current.peek() !== null) return;
  const { value } = listing;
  const now = value.state === 'ready' ? value.sessions.find((each) => each.id === left?.info.id) : undefined;
  if (value.state === 'ready' && now === undefined) return;
  const { info, to, selection: chosen } = left;
  openSession(now ?? info, to);
  selection.value = chosen;
}

export function closeSession(): void {
  const info = current.peek();
  const { mode, step, operation } = position.peek();
  if (info !== null) {
    const to: Destination =
      operation === null ? { kind: 'step', step } : { kind: 'operation', operation, step };
    left = { info, to: mode === 'follow' || step < 0 ? null : to, selection: selection.peek() };
  }
  current.value = null;
  clearSelection();
  closeLedger();
  void loadSessions();
}

/** A session that became live while another, finished one is open. */
export const newcomer = signal<SessionInfo | null>(null);
/** The live sessions that the reader was told of already. */
const known = new Set<string>();

export function dismissNewcomer(): void {
  newcomer.value = null;
}

/** Look for a session that is live now and was not when the one that is shown was opened. */
export async function lookForNewcomer(): Promise<void> {
  const open = current.peek();
  if (open === null || document.hidden || isEmbedded) return;
  try {
    const response = await fetch(apiUrl('sessions'));
    if (!response.ok) return;
    const { sessions } = await answerOf<{ sessions: SessionInfo[] }>(response, { sessions: isArray });
    const live = sessions.filter((each) => each.state === 'live');
    const found = live.find((each) => each.id !== open.id && !known.has(each.id));
    for (const each of live) known.add(each.id);
    if (found !== undefined && current.peek() === open) newcomer.value = found;
    else if (newcomer.peek() !== null && !live.some((each) => each.id === newcomer.peek()?.id))
      newcomer.value = null;
  } catch {
    // The server does not answer: the page says so where it matters.
  }
}
