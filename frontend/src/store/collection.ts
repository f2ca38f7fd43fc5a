/** The list of sessions: its order, what is looked for, which row is chosen; what stands beside each; and what is changed. */

import { computed, signal } from '@preact/signals';
import { text } from '../text';
import { arranged, type Order } from './arranged';
import { answerOf, isObject, reasonOf, whyNone } from './reason';
import { say } from './remark';
import { apiUrl, listing, loadSessions, type SessionInfo } from './sessions';

export interface Note {
  readonly number: number;
  readonly step: number;
  readonly text: string;
}

/** What a list shows beside a session. */
export interface Sketch {
  /** Shares of the pool in thousandths, a value a point; null in a gap. */
  readonly used: readonly (number | null)[];
  readonly cached: readonly (number | null)[];
  /** The newest of so many `notes`. */
  readonly note: Note | null;
  readonly notes: number;
}

export const order = signal<Order>('started');
export const search = signal('');
/** The id of the row that the keys act on. */
export const chosen = signal<string | null>(null);
/** What is being written, and of which session. */
export const edited = signal<{ readonly id: string; readonly what: 'name' | 'note' } | null>(null);
export const removing = signal<SessionInfo | null>(null);
export const exporting = signal<SessionInfo | null>(null);
export const sketches = signal<ReadonlyMap<string, Sketch>>(new Map());

/** All that the server told last. */
export const known = computed<readonly SessionInfo[]>(() => {
  const { value } = listing;
  return value.state === 'loading' ? [] : value.sessions;
});

export const shown = computed(() =>
  arranged(known.value, order.value, search.value, (id) => sketches.value.get(id)?.note?.text ?? ''),
);

/** Choose the row so many further on; from none the first or the last. Its session, or null in an empty list. */
export function move(rows: number): SessionInfo | null {
  const all = shown.peek();
  const at = all.findIndex((each) => each.id === chosen.peek());
  const next = at < 0 ? (rows > 0 ? 0 : all.length - 1) : at + rows;
  const found = all[Math.max(0, Math.min(all.length - 1, next))] ?? null;
  chosen.value = found?.id ?? null;
  return found;
}

// -- what stands beside each ----------------------------------------------------------------------------------------------

/** A server tells of so many at once. */
const AT_ONCE = 50;
/** Up to which record each sketch goes. */
const drawn = new Map<string, string>();
let asking = false;

/** Ask for the sketches of sessions that have none, or that went on. */
export async function loadSketches(): Promise<void> {
  if (asking) return;
  asking = true;
  try {
    const keyOf = (each: SessionInfo): string => `${each.last_record} ${each.state}`;
    // What is at the top of the list comes first.
    const all = new Set([...shown.peek(), ...known.peek()]);
    const wanted = [...all].filter((each) => drawn.get(each.id) !== keyOf(each));
    for (let at = 0; at < wanted.length; at += AT_ONCE) {
      const part = wanted.slice(at, at + AT_ONCE);
      const query = new URLSearchParams(part.map(({ id }) => ['session', id]));
      const response = await fetch(apiUrl(`sketches?${query}`));
      if (!response.ok) return;
      const told = await answerOf<{ sketches: Record<string, Sketch> }>(response, { sketches: isObject });
      sketches.value = new Map([...sketches.peek(), ...Object.entries(told.sketches)]);
      for (const each of part) drawn.set(each.id, keyOf(each));
    }
  } catch {
    // The server does not answer: the list says so.
  } finally {
    asking = false;
  }
}

// -- changes --------------------------------------------------------------------------------------------------------------

/** Ask the server for a change; its answer, or null where it refused: then the reader is told why. */
async function change(method: string, path: string, body?: object): Promise<unknown | null> {
  try {
    const response = await fetch(apiUrl(path), {
      method,
      headers: { 'x-kvarium-by': 'the page' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.ok) return await answerOf(response, {});
    say(await reasonOf(response), true);
  } catch (error) {
    say(whyNone(error, text.sessions.notChanged), true);
  }
  return null;
}

function pathOf(info: SessionInfo): string {
  return `sessions/${encodeURIComponent(info.id)}`;
}

export async function rename(info: SessionInfo, name: string): Promise<void> {
  if (name.trim() === info.name) return;
  if ((await change('PATCH', pathOf(info), { name })) !== null) await loadSessions();
}

/** Write the note that the list shows anew; without a text it goes. A first one is put beside the session's last step. */
export async function writeNote(info: SessionInfo, said: string): Promise<void> {
  const note = sketches.peek().get(info.id)?.note ?? null;
  const wanted = said.trim();
  if (wanted === (note?.text ?? '')) return;
  const place = `${pathOf(info)}/notes`;
  if (note === null) await change('POST', place, { text: wanted });
  else if (wanted === '') await change('DELETE', `${place}/${note.number}`);
  else await change('PATCH', `${place}/${note.number}`, { text: wanted });
  drawn.delete(info.id);
  await loadSketches();
}

export async function remove(info: SessionInfo): Promise<void> {
  const next = shown.peek();
  const at = next.findIndex((each) => each.id === info.id);
  const told = (await change('DELETE', pathOf(info))) as {
    freed_bytes: number;
    reusable_bytes: number;
  } | null;
  if (told === null) return;
  if (chosen.peek() === info.id) chosen.value = (next[at + 1] ?? next[at - 1])?.id ?? null;
  say(text.sessions.removed(info.name || info.id, told.freed_bytes, told.reusable_bytes));
  await loadSessions();
}
