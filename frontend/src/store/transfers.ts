/**
 * Files on their way: to the server, which inspects them, and from it, which makes them first.
 *
 *     import   waiting ─▶ moving (bytes sent) ─▶ checking ─▶ done | failed
 *     export   making ─▶ moving (bytes that came) ─▶ done | failed
 */

import { signal } from '@preact/signals';
import { text } from '../text';
import { chosen } from './collection';
import { reasonIn, reasonOf } from './reason';
import { apiUrl, loadSessions, type SessionInfo } from './sessions';

export const FORMATS = ['kvarium', 'parquet', 'jsonl', 'perfetto', 'html'] as const;
export type Format = (typeof FORMATS)[number];

export interface Transfer {
  readonly number: number;
  readonly kind: 'import' | 'export';
  readonly name: string;
  readonly state: 'waiting' | 'making' | 'moving' | 'checking' | 'done' | 'failed';
  readonly done: number;
  readonly total: number;
  /** ms of the page's clock. */
  readonly began: number;
  readonly reason: string;
  /** The session that came. */
  readonly session: string | null;
}

export const transfers = signal<readonly Transfer[]>([]);
const ends = new Map<number, () => void>();
const files = new Map<number, File>();
let numbers = 0;

/** ms for which what is done stands there. */
const READ = 10_000;
/** Parts of a file are handed to the browser when they have so many bytes: it keeps them elsewhere, and on disk if need be. */
const PART = 16 << 20;

function begin(kind: Transfer['kind'], name: string, state: Transfer['state'], total = 0): number {
  const number = ++numbers;
  const began = performance.now();
  const made: Transfer = { number, kind, name, state, done: 0, total, began, reason: '', session: null };
  transfers.value = [...transfers.peek(), made];
  return number;
}

function tell(number: number, news: Partial<Transfer>): void {
  transfers.value = transfers.peek().map((each) => (each.number === number ? { ...each, ...news } : each));
  if (news.state === 'done') setTimeout(() => dismiss(number), READ);
}

/** Give it up where it is under way, and say no more of it. */
export function dismiss(number: number): void {
  ends.get(number)?.();
  ends.delete(number);
  files.delete(number);
  transfers.value = transfers.peek().filter((each) => each.number !== number);
}

// -- import ---------------------------------------------------------------------------------------------------------------

let importing = false;

/** Bring files to the server, one behind the other: it takes one at a time. */
export function importFiles(brought: Iterable<File>): void {
  for (const file of brought) files.set(begin('import', file.name, 'waiting', file.size), file);
  void importNext();
}

async function importNext(): Promise<void> {
  const next = transfers.peek().find((each) => each.state === 'waiting');
  const file = next === undefined ? undefined : files.get(next.number);
  if (importing || next === undefined || file === undefined) return;
  importing = true;
  files.delete(next.number);
  try {
    const session = await send(next.number, file);
    tell(next.number, { state: 'done', session });
    chosen.value = session;
    await loadSessions();
  } catch (error) {
    tell(next.number, { state: 'failed', reason: (error as Error).message });
  } finally {
    importing = false;
    ends.delete(next.number);
    void importNext();
  }
}

/** The file as it is; the id of its session. Only this way of asking tells how much has been sent. */
function send(number: number, file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    ends.set(number, () => request.abort());
    request.upload.addEventListener('progress', ({ loaded }) => tell(number, { done: loaded }));
    request.upload.addEventListener('load', () => tell(number, { state: 'checking' }));
    request.addEventListener('load', () => {
      if (request.status === 201) resolve((JSON.parse(request.responseText) as { session: string }).session);
      else reject(new Error(reasonIn(request.responseText, request.status)));
    });
    request.addEventListener('error', () => reject(new Error(text.transfers.gone)));
    request.addEventListener('abort', () => reject(new Error(text.transfers.givenUp)));
    request.open('POST', apiUrl(`import?${new URLSearchParams({ name: file.name })}`));
    tell(number, { state: 'moving' });
    request.send(file);
  });
}

// -- export ---------------------------------------------------------------------------------------------------------------

export interface Wanted {
  readonly format: Format;
  readonly strip: 'none' | 'hash' | null;
  /** Of a page: its steps; null: from the first, to the last. */
  readonly from: number | null;
  readonly to: number | null;
}

export function exportUrl(info: SessionInfo, { format, strip, from, to }: Wanted): string {
  const query = new URLSearchParams({ format });
  if (strip !== null) query.set('strip_text', strip);
  if (format === 'html' && (from !== null || to !== null)) query.set('steps', `${from ?? ''}..${to ?? ''}`);
  return apiUrl(`sessions/${encodeURIComponent(info.id)}/export?${query}`);
}

/** Have a file made, fetch it, and hand it to the reader. */
export async function exportSession(info: SessionInfo, wanted: Wanted): Promise<void> {
  const abort = new AbortController();
  const name = text.transfers.exported(info.name || info.id.slice(0, 8), text.formats[wanted.format].name);
  const number = begin('export', name, 'making');
  ends.set(number, () => abort.abort());
  try {
    const response = await fetch(exportUrl(info, wanted), { signal: abort.signal });
    if (!response.ok) throw new Error(await reasonOf(response));
    const called = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
    tell(number, { state: 'moving', total: Number(response.headers.get('content-length') ?? 0) });
    save(await received(number, response), called ?? 'kvarium');
    tell(number, { state: 'done', name: called ?? name });
  } catch (error) {
    const isGone = error instanceof TypeError;
    tell(number, { state: 'failed', reason: isGone ? text.transfers.gone : (error as Error).message });
  } finally {
    ends.delete(number);
  }
}

async function received(number: number, response: Response): Promise<Blob> {
  const reader = response.body!.getReader();
  const whole: Blob[] = [];
  let part: Uint8Array<ArrayBuffer>[] = [];
  let [done, size] = [0, 0];
  for (;;) {
    const { value, done: ended } = await reader.read();
    if (value !== undefined) {
      part.push(value);
      size += value.byteLength;
      done += value.byteLength;
    }
    if (size >= PART || ended) {
      whole.push(new Blob(part));
      [part, size] = [[], 0];
      tell(number, { done });
    }
    if (ended) return new Blob(whole);
  }
}

/** A file of the page's own, for the reader to keep. */
export function save(data: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
