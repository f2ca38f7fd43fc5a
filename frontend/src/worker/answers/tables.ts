/**
 * The block tables: a row a sequence that holds blocks, and a row a request that holds none: one that waits, was preempted or
 * has ended. Those in one state or in any, that have some words, in an order.
 *
 * The page knows of all rows whose they are and how many blocks they have; the rest of a row it has of those around what is
 * in sight: 10,000 of them are told many times a second.
 */

import type { Fold } from '../../ledger/fold';
import { NONE } from '../../ledger/generated/constants';
import type { Table } from '../../ledger/tables';
import { type Branch, branchesOf } from '../branches';
import { type Careers, type Known, NOT_RECORDED } from '../careers';
import type { CopyMade } from '../operation';

export const ROW_STATES = ['running', 'waiting', 'preempted', 'finished', 'any'] as const;
export type RowState = (typeof ROW_STATES)[number];
export const ROW_ORDERS = ['arrival', 'firstToken', 'preemptions', 'blocks'] as const;
export type RowOrder = (typeof ROW_ORDERS)[number];

export interface TablesWish {
  /** Rows in sight. */
  readonly from: number;
  readonly to: number;
  readonly state: RowState;
  /** Words that a row has, all of them: in its label, its request's name, its state or how it ended. */
  readonly words: string;
  readonly order: RowOrder;
  readonly descending: boolean;
}

export interface TableRow {
  /** null: the request holds no blocks, so it is one row. */
  readonly sequence: number | null;
  readonly group: number;
  readonly request: number;
  readonly name: string;
  readonly label: string;
  readonly state: Exclude<RowState, 'any'>;
  /** stop, length, aborted …; null: it has not ended. */
  readonly how: string | null;
  /** Tokens that the table holds, and those of the prompt. */
  readonly tokens: number;
  readonly prompt: number;
  /** Entries of the table (holes included). */
  readonly length: number;
  /** The blocks, `NONE` in holes; only for the rows that are in sight. */
  readonly blocks: Uint32Array | null;
  /** Positions whose block was made by a copy on write. */
  readonly copies: readonly number[];
  /** Copies on write of the present step. */
  readonly copied: readonly CopyMade[];
  /** The sequence that it was forked from; null: it is the first. */
  readonly parent: string | null;
  /** Its place in the tree of its request's forks; null: it has no others, or rows are in another order. */
  readonly branch: Branch | null;
  /** ns from the submission to the first token; null: there is none yet. */
  readonly firstToken: Known<number | null>;
  readonly preemptions: Known<number>;
}

export interface TablesAnswer {
  /** Of all rows: the sequence (`NONE`: a request without blocks), its request, and how many blocks its table has. */
  readonly sequences: Uint32Array;
  readonly owners: Uint32Array;
  readonly lengths: Uint32Array;
  /** Levels of its branch. */
  readonly depths: Uint8Array;
  /** Rows from `first` on. */
  readonly first: number;
  readonly rows: readonly TableRow[];
  readonly requests: number;
  /** How many figures that rows are ordered by are not recorded. */
  readonly unknown: number;
  /** Why the server could not be asked; null: it could, or need not be. */
  readonly fault: string | null;
  readonly wish: TablesWish;
}

/** What a fold does not tell. */
export interface TableSources {
  readonly copied: ReadonlyMap<number, number>;
  readonly careers: Careers;
  /** Copies on write of the present step. */
  readonly present: readonly CopyMade[];
}

/** Rows are told of that many beside those in sight: who scrolls finds them there. */
const BESIDE = 200;
/** In the order of arrival: who holds blocks, who waits for some, who has ended. */
const RANKS: Readonly<Record<Exclude<RowState, 'any'>, number>> = {
  running: 0,
  preempted: 1,
  waiting: 1,
  finished: 2,
};

interface Entry {
  readonly table: Table | null;
  readonly request: number;
  readonly state: Exclude<RowState, 'any'>;
  readonly rank: number;
  readonly precedence: number;
  readonly place: number;
  readonly how: string | null;
  readonly name: string;
  figure: number;
}

/** The request that a table without a known sequence has. */
const NOBODY = -1;

function entriesOf(fold: Fold, { state, words }: TablesWish, careers: Careers): Entry[] {
  const { requests } = fold;
  const entries: Entry[] = [];
  const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
  const add = (
    request: number,
    own: Entry['state'],
    table: Table | null,
    how: string | null,
    name: string,
  ): void => {
    if (state !== 'any' && state !== own) return;
    if (terms.length > 0) {
      const label = table === null ? `r${request}` : requests.memory.label(table.sequence);
      const said = `${label} ${name} ${own} ${how ?? ''}`.toLowerCase();
      if (!terms.every((term) => said.includes(term))) return;
    }
    const waits = own === 'waiting' || own === 'preempted';
    entries.push({
      table,
      request,
      state: own,
      rank: RANKS[own],
      precedence: waits ? (requests.facts.get(request)?.precedence ?? 0) : 0,
      place: requests.rows.get(request)?.place ?? Number.POSITIVE_INFINITY,
      how,
      name,
      figure: 0,
    });
  };
  const nameOf = (request: number): string => requests.facts.get(request)?.name ?? '';
  for (const table of fold.tables.map.values()) {
    const request = requests.sequences.get(table.sequence)?.request ?? NOBODY;
    add(request, 'running', table, null, nameOf(request));
  }
  if (state === 'running') return entries;
  const holders = new Set(entries.map(({ request }) => request));
  for (const [request, row] of requests.rows) {
    // One that was admitted and has no block yet runs.
    if (!holders.has(request)) add(request, row.state, null, null, nameOf(request));
  }
  if (state !== 'finished' && state !== 'any') return entries;
  for (const { request, name } of careers.ended()) {
    const end = requests.rows.has(request) ? null : careers.endOf(request, fold);
    if (end !== null) add(request, 'finished', null, end.how, name);
  }
  return entries;
}

/** What is not recorded, or not there yet, comes last in either direction. */
function figureOf(entry: Entry, order: RowOrder, fold: Fold, careers: Careers): Known<number | null> {
  switch (order) {
    case 'arrival':
      return null;
    case 'blocks':
      return entry.table?.size ?? 0;
    case 'firstToken':
      return careers.firstToken(entry.request, fold);
    case 'preemptions':
      return careers.preemptions(entry.request, fold);
  }
}

function byArrival(a: Entry, b: Entry): number {
  // Of two infinite places the difference is no number.
  const byPlace = a.place === b.place ? 0 : a.place - b.place;
  return (
    a.rank - b.rank ||
    a.precedence - b.precedence ||
    byPlace ||
    a.request - b.request ||
    (a.table?.sequence ?? 0) - (b.table?.sequence ?? 0) ||
    (a.table?.group ?? 0) - (b.table?.group ?? 0)
  );
}

/** Put the entries of each request into the order of its forks; their branches, where there are several. */
function branched(entries: Entry[], fold: Fold): ReadonlyMap<number, Branch> {
  const { sequences } = fold.requests.memory;
  const found = new Map<number, Branch>();
  for (let from = 0, to = 0; from < entries.length; from = to) {
    const { request, table } = entries[from]!;
    to = from + 1;
    while (to < entries.length && entries[to]!.request === request) to++;
    if (to - from < 2 || table === null || request === NOBODY) continue;
    const own = new Set(entries.slice(from, to).flatMap((entry) => entry.table?.sequence ?? []));
    if (own.size < 2) continue;
    const branches = branchesOf([...own], (sequence) => sequences.get(sequence)?.parent ?? null);
    const places = new Map(branches.map(({ sequence }, i) => [sequence, i]));
    const placeOf = (entry: Entry): number => places.get(entry.table?.sequence ?? NONE) ?? own.size;
    const sorted = entries.slice(from, to).sort((a, b) => placeOf(a) - placeOf(b));
    entries.splice(from, sorted.length, ...sorted);
    for (const branch of branches) found.set(branch.sequence, branch);
  }
  return found;
}

export function tablesAnswer(fold: Fold, from: TableSources, wish: TablesWish): TablesAnswer {
  const { careers } = from;
  const { order, descending } = wish;
  const entries = entriesOf(fold, wish, careers);
  let unknown = 0;
  let branches: ReadonlyMap<number, Branch> = new Map();
  const worst = descending ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const figure = figureOf(entry, order, fold, careers);
    if (figure === NOT_RECORDED) unknown++;
    // What there is not yet stands before what nobody knows.
    entry.figure = typeof figure === 'number' ? figure : worst;
  }
  if (order === 'arrival') {
    entries.sort(descending ? (a, b) => byArrival(b, a) : byArrival);
    branches = branched(entries, fold);
  } else {
    const sign = descending ? -1 : 1;
    // Of two infinite figures the difference is no number.
    entries.sort((a, b) => (a.figure === b.figure ? byArrival(a, b) : sign * (a.figure - b.figure)));
  }
  const first = Math.max(0, Math.min(wish.from, entries.length) - BESIDE);
  const isSighted = (i: number): boolean => first + i >= wish.from && first + i < wish.to;
  const shown = entries.slice(first, wish.to + BESIDE);
  return {
    sequences: Uint32Array.from(entries, ({ table }) => table?.sequence ?? NONE),
    owners: Uint32Array.from(entries, ({ request }) => (request === NOBODY ? NONE : request)),
    lengths: Uint32Array.from(entries, ({ table }) => table?.end ?? 0),
    depths: Uint8Array.from(entries, ({ table }) =>
      Math.min(255, table === null ? 0 : (branches.get(table.sequence)?.depth ?? 0)),
    ),
    first,
    rows: shown.map((entry, i) => rowOf(fold, entry, from, branches, isSighted(i))),
    requests: new Set(entries.map(({ request }) => request)).size,
    unknown,
    fault: careers.fault,
    wish,
  };
}

function rowOf(
  fold: Fold,
  { table, request, state, how, name }: Entry,
  { copied, careers, present }: TableSources,
  branches: ReadonlyMap<number, Branch>,
  isSighted: boolean,
): TableRow {
  const { requests, blocks } = fold;
  const copies: number[] = [];
  let tokens = 0;
  for (let position = 0; position < (table?.end ?? 0); position++) {
    const block = table!.blocks[position]!;
    if (block >= blocks.size) continue;
    tokens += blocks.filled[block]!;
    if (isSighted && copied.get(block) === blocks.generation[block]) copies.push(position);
  }
  const parent = table === null ? null : (requests.memory.sequences.get(table.sequence)?.parent ?? null);
  return {
    sequence: table?.sequence ?? null,
    group: table?.group ?? 0,
    request,
    name,
    label: table === null ? `r${request}` : requests.memory.label(table.sequence),
    state,
    how,
    tokens,
    prompt: requests.facts.get(request)?.promptTokens ?? 0,
    length: table?.end ?? 0,
    blocks: isSighted ? (table?.blocks.slice(0, table.end) ?? new Uint32Array(0)) : null,
    copies,
    copied: table === null ? [] : present.filter(({ sequence }) => sequence === table.sequence),
    parent: parent === null ? null : requests.memory.label(parent),
    branch: (table && branches.get(table.sequence)) ?? null,
    firstToken: careers.firstToken(request, fold),
    preemptions: careers.preemptions(request, fold),
  };
}
