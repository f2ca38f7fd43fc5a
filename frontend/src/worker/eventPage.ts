/** Events as a server tells them, a page at a time, and as the list shows them. */

import { CAUSE_CODES, OPERATION_CODES } from '../ledger/codes';
import { NONE, Operation } from '../ledger/generated/constants';
import type { Admitted } from '../ledger/generated/types';
import type { Decision, RequestMemory } from '../ledger/requests';
import { type EventRow, lostRow } from './answers/events';

/** An event's place: its record and its index there. As a bound it stands before that event. */
export interface EventPlace {
  readonly record: number;
  readonly index: number;
}

export function comparePlaces(a: EventPlace, b: EventPlace): number {
  return a.record - b.record || a.index - b.index;
}

export type Direction = 'later' | 'earlier';

export interface EventQuery {
  /** As it is typed. */
  readonly filter: string;
  readonly from: EventPlace;
  readonly direction: Direction;
  readonly limit: number;
}

/** A decision in JSON, where bytes are hexadecimal digits. */
type ToldDecision =
  | Exclude<Decision, Admitted>
  | (Omit<Admitted, 'missed'> & { readonly missed?: string | null });

/** A row of `GET …/events`. */
interface ToldEvent {
  readonly record: number;
  readonly index: number;
  readonly step?: number;
  readonly op?: number;
  readonly time: number;
  readonly kind: string;
  readonly decision?: ToldDecision;
  readonly block?: number;
  readonly generation?: number | null;
  readonly cause?: string | number;
  readonly sequence?: number | null;
  readonly request?: number | null;
  readonly sequence_index?: number | null;
  readonly position?: number;
  readonly ticket?: number | null;
  readonly filled_before?: number;
  readonly filled_after?: number;
  readonly source?: number;
  readonly content?: number | null;
  readonly hits?: number;
  readonly first?: number;
  readonly last?: number;
  readonly reason?: string;
}

/** The answer of `GET …/events`. */
export interface ToldPage {
  readonly rows: readonly ToldEvent[];
  readonly next: EventPlace | null;
  readonly requests: Readonly<Record<string, { readonly name: string; readonly n: number }>>;
}

export interface EventPage {
  readonly rows: readonly EventRow[];
  /** Where to go on; null: there is nothing more in that direction. */
  readonly next: EventPlace | null;
}

/** Gives the rows of a page, and lets the memory know whose sequences they name. */
export function readPage(told: ToldPage, memory: RequestMemory): EventPage {
  return { rows: told.rows.map((row) => rowOf(row, told.requests, memory)), next: told.next };
}

function decisionOf(told: ToldDecision): Decision {
  if (told.kind !== 'admitted') return told;
  const { missed, ...rest } = told;
  if (missed == null) return { ...rest, ...(missed === null ? { missed } : {}) };
  return {
    ...rest,
    missed: Uint8Array.from(missed.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16)),
  };
}

function rowOf(told: ToldEvent, requests: ToldPage['requests'], memory: RequestMemory): EventRow {
  const { record, index, time } = told;
  const base = { record, index, time, step: told.step ?? -1, op: told.op ?? 0 };
  const nothing = { block: NONE, generation: null, cause: 0, position: NONE, value: 0, before: 0 };
  if (told.kind === 'gap') {
    const { first = 0, last = 0, reason = '' } = told;
    return lostRow({ type: 'gap', record, time, first, last, reason });
  }
  const sequence = told.sequence ?? NONE;
  const label = labelOf(told, requests, memory);
  if (told.decision !== undefined)
    return { ...base, ...nothing, kind: decisionOf(told.decision), sequence, label };
  const kind = OPERATION_CODES[told.kind] ?? 0;
  return {
    ...base,
    kind,
    block: told.block ?? NONE,
    generation: told.generation ?? null,
    cause: typeof told.cause === 'number' ? told.cause : (CAUSE_CODES[told.cause ?? ''] ?? 0),
    sequence,
    label,
    position: told.position ?? NONE,
    value:
      kind === Operation.free
        ? (told.ticket ?? Number.NaN)
        : (told.source ?? told.content ?? told.filled_after ?? 0),
    before: told.hits ?? told.filled_before ?? 0,
  };
}

function labelOf(told: ToldEvent, requests: ToldPage['requests'], memory: RequestMemory): string {
  const { sequence, request, sequence_index: index } = told;
  if (request == null) return sequence == null ? '' : memory.label(sequence);
  if (sequence == null) return `r${request}`;
  const several = (index ?? 0) > 0 || (requests[request]?.n ?? 1) > 1;
  return several && index != null ? `r${request}.${index}` : `r${request}`;
}
