/** The sessions that the server knows, and which one is open. */

import { signal } from '@preact/signals';
import { closeLedger, openLedger } from './ledger';
import { clearSelection } from './selection';

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
  readonly gaps: number;
  readonly violations: number;
  readonly allow_control: boolean;
}

export type Listing =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly sessions: readonly SessionInfo[] }
  | { readonly state: 'failed'; readonly message: string };

export const listing = signal<Listing>({ state: 'loading' });
/** The session that is open; null: the list is shown. */
export const current = signal<SessionInfo | null>(null);

/** The session that the address names and the server does not know. */
export const unknownSession = signal<string | null>(null);

export function apiUrl(path: string): string {
  return new URL(`api/${path}`, document.baseURI).href;
}

export async function loadSessions(): Promise<readonly SessionInfo[]> {
  try {
    const response = await fetch(apiUrl('sessions'));
    if (!response.ok) throw new Error(`status ${response.status}`);
    const { sessions } = (await response.json()) as { sessions: SessionInfo[] };
    listing.value = { state: 'ready', sessions };
    return sessions;
  } catch (error) {
    listing.value = { state: 'failed', message: (error as Error).message };
    return [];
  }
}

export function openSession(info: SessionInfo, step: number | null): void {
  current.value = info;
  unknownSession.value = null;
  openLedger({
    id: info.id,
    live: info.state === 'live',
    step,
    lastStep: info.last_step ?? -1,
    lastRecord: info.last_record ?? -1,
  });
}

export function closeSession(): void {
  current.value = null;
  clearSelection();
  closeLedger();
  void loadSessions();
}
