/** SQL of the open session: what is written, what came of it, what was asked before. It outlives the panel. */

import { effect, signal } from '@preact/signals';
import { text } from '../text';
import { whenBack } from './back';
import type { Value } from './csv';
import { isArray, isObject, readAnswer, reasonIn, whyNone } from './reason';
import { apiUrl, current } from './sessions';

export interface Guide {
  readonly tables: readonly {
    readonly name: string;
    readonly about: string;
    readonly columns: readonly { readonly name: string; readonly type: string; readonly about: string }[];
  }[];
  readonly questions: readonly { readonly title: string; readonly about: string; readonly sql: string }[];
  readonly limits: { readonly seconds: number; readonly memory_bytes: number; readonly rows: number };
}

export interface Rows {
  readonly columns: readonly string[];
  readonly types: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  readonly truncated: boolean;
  readonly elapsed_ms: number;
}

/** Where DuckDB found something wrong, from 1. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

export type Outcome =
  | { readonly state: 'none' }
  | { readonly state: 'running'; readonly began: number }
  | { readonly state: 'answered'; readonly sql: string; readonly answer: Rows }
  | { readonly state: 'failed'; readonly sql: string; readonly reason: string; readonly spot: Spot | null };

export interface Sorting {
  readonly column: number;
  readonly descends: boolean;
}

/** So many rows may be asked for. */
export const LIMITS = [1000, 10_000, 100_000] as const;
/** So many queries are remembered. */
const REMEMBERED = 20;
const KEY = 'kvarium.sql';

/** null: it is not there yet; a text: why it did not come. */
export const guide = signal<Guide | string | null>(null);
export const draft = signal(
  'SELECT kind, count(*) AS operations\nFROM block_event\nGROUP BY ALL ORDER BY operations DESC',
);
export const limit = signal<number>(LIMITS[0]);
export const outcome = signal<Outcome>({ state: 'none' });
export const sorting = signal<Sorting | null>(null);
export const schemaShown = signal(true);
/** The newest first. */
export const history = signal<readonly string[]>(remembered());

function remembered(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter((each) => typeof each === 'string').slice(0, REMEMBERED) : [];
  } catch {
    return [];
  }
}

function remember(sql: string): void {
  history.value = [sql, ...history.peek().filter((each) => each !== sql)].slice(0, REMEMBERED);
  try {
    localStorage.setItem(KEY, JSON.stringify(history.peek()));
  } catch {
    // A page without storage forgets them, and that is all.
  }
}

const GUIDE = { tables: isArray, questions: isArray, limits: isObject };
const ROWS = { columns: isArray, types: isArray, rows: isArray };

export async function loadGuide(): Promise<void> {
  if (guide.peek() !== null && typeof guide.peek() !== 'string') return;
  try {
    const response = await fetch(apiUrl('sql'));
    const said = await response.text();
    guide.value = response.ok ? readAnswer<Guide>(said, GUIDE) : reasonIn(said, response.status);
  } catch (error) {
    guide.value = whyNone(error, text.sql.gone);
    if (guide.peek() === text.sql.gone) whenBack('sql', () => void loadGuide());
  }
}

let abort: AbortController | null = null;

export function stop(): void {
  abort?.abort();
}

/** Ask what is written. An answer that comes after the session was left is nobody's. */
export async function run(): Promise<void> {
  const [info, sql] = [current.peek(), draft.peek().trim()];
  if (info === null || sql === '' || outcome.peek().state === 'running') return;
  remember(sql);
  const asked = new AbortController();
  abort = asked;
  outcome.value = { state: 'running', began: performance.now() };
  const tell = (came: Outcome): void => {
    if (abort === asked) outcome.value = came;
  };
  const fail = (reason: string, spot: Spot | null = null): void =>
    tell({ state: 'failed', sql, reason, spot });
  try {
    const response = await fetch(apiUrl(`sessions/${encodeURIComponent(info.id)}/sql`), {
      method: 'POST',
      body: JSON.stringify({ sql, limit: limit.peek() }),
      signal: asked.signal,
    });
    const said = await response.text();
    if (response.ok) {
      const answer = readAnswer<Rows>(said, ROWS);
      sorting.value = null;
      tell({ state: 'answered', sql, answer });
    } else fail(reasonIn(said, response.status), spotIn(said));
  } catch (error) {
    if (asked.signal.aborted) tell({ state: 'none' });
    else fail(whyNone(error, text.sql.gone));
  }
}

function spotIn(said: string): Spot | null {
  try {
    const { line, column } = JSON.parse(said) as { line?: number | null; column?: number | null };
    return line == null || column == null ? null : { line, column };
  } catch {
    return null;
  }
}

/** Where a spot lies in a text. */
export function offsetOf(sql: string, { line, column }: Spot): number {
  const before = sql.split('\n').slice(0, line - 1);
  return before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
}

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DOUBLE|FLOAT|DECIMAL)/;

export function isNumber(type: string): boolean {
  return NUMBERS.test(type) && !type.endsWith('[]');
}

/** As DuckDB does: what is no number (“NaN”) comes behind infinity. */
function bySize(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}

/** The rows in an order: by their places in the answer. Numbers by their size, NULL last. */
export function sorted({ rows, types }: Rows, by: Sorting | null): number[] {
  const places = rows.map((_, place) => place);
  if (by === null) return places;
  const { column, descends } = by;
  const asNumber = isNumber(types[column] ?? '');
  const values = rows.map((row) => row[column] ?? null);
  const compare = (a: Value, b: Value): number =>
    asNumber
      ? bySize(Number(a), Number(b))
      : String(a).localeCompare(String(b), undefined, { numeric: true });
  return places.sort((a, b) => {
    const [left, right] = [values[a]!, values[b]!];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return (descends ? -1 : 1) * compare(left, right);
  });
}

/** What a column's numbers name, by the column's name; null: nothing that can be gone to. */
export function linkOf(column: string): 'step' | 'op' | 'block' | 'request' | 'sequence' | null {
  if (/^(step|(submitted|admitted|created|ended)_step)$/.test(column)) return 'step';
  if (/^(op|(created|ended)_op)$/.test(column)) return 'op';
  if (/^(block|source)$/.test(column)) return 'block';
  if (/^(request|victim_of|behind)$/.test(column)) return 'request';
  return column === 'sequence' ? 'sequence' : null;
}

/** With its session goes what was asked of it. */
export function startSql(): void {
  let open: string | null = null;
  effect(() => {
    const id = current.value?.id ?? null;
    if (id === null || id === open) return;
    open = id;
    abort?.abort();
    abort = null;
    outcome.value = { state: 'none' };
  });
}
