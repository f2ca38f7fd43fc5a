/** Operations and decisions as a plain list: those of the present step and around it, or all that meet a filter. */

import { decodeOperations, HOLDS } from '../../ledger/columns';
import { NONE, Operation } from '../../ledger/generated/constants';
import type { Step } from '../../ledger/generated/types';
import type { Decision, RequestMemory } from '../../ledger/requests';

export interface EventFilter {
  /** Codes of operations; null: every kind. Decisions are left out unless it is null. */
  readonly kinds: readonly number[] | null;
  readonly block: number | null;
  readonly request: number | null;
  /** Only decisions. */
  readonly decisions: boolean;
}

export interface EventRow {
  readonly step: number;
  readonly op: number;
  /** The code of an operation, or a decision. */
  readonly kind: number | Decision;
  readonly block: number;
  readonly cause: number;
  readonly sequence: number;
  /** How the sequence is shown; empty where there is none. */
  readonly label: string;
  readonly position: number;
  /** copy: the source; evict, cache: the content; free: the ticket; fill: the fill after. */
  readonly value: number;
  /** fill, copy: the fill before; evict: the hits. */
  readonly before: number;
}

export interface EventList {
  readonly rows: readonly EventRow[];
  /** The index of the first row that lies after the present position. */
  readonly now: number;
  /** The first step that was looked at; is it the first that is loaded? */
  readonly fromStep: number;
  readonly complete: boolean;
}

export const EVERYTHING: EventFilter = { kinds: null, block: null, request: null, decisions: false };

export function sameFilter(a: EventFilter, b: EventFilter): boolean {
  return (
    a.block === b.block &&
    a.request === b.request &&
    a.decisions === b.decisions &&
    String(a.kinds) === String(b.kinds)
  );
}

/** The rows of one step that meet a filter, in order. `memory` knows the requests of the sequences. */
export function rowsOf(step: Step, filter: EventFilter, memory: RequestMemory): EventRow[] {
  const rows: EventRow[] = [];
  const decisions = filter.kinds === null && filter.block === null ? (step.decisions ?? []) : [];
  let next = 0;
  const decide = (op: number): void => {
    for (; next < decisions.length && decisions[next]!.op <= op; next++) {
      const decision = decisions[next]!;
      const isOfRequest =
        filter.request === null ||
        decision.request === filter.request ||
        (decision.kind === 'preempted' && decision.victim_of === filter.request);
      if (!isOfRequest) continue;
      const sequence = 'sequence' in decision ? decision.sequence : NONE;
      rows.push({
        step: step.step,
        op: decision.op,
        kind: decision,
        block: NONE,
        cause: 0,
        sequence,
        label: sequence === NONE ? `r${decision.request}` : memory.label(sequence),
        position: NONE,
        value: 0,
        before: 0,
      });
    }
  };
  if (!filter.decisions) {
    const columns = decodeOperations(step.operations);
    const kinds = filter.kinds === null ? null : new Set(filter.kinds);
    const at = { holder: 0, ticket: 0, before: 0, after: 0, source: 0, content: 0, hits: 0 };
    for (let i = 0; i < columns.length; i++) {
      const op = step.op + i;
      decide(op);
      const kind = columns.kind[i]!;
      const position = HOLDS[kind] === 1 ? columns.position[at.holder++]! : NONE;
      let value = 0;
      let before = 0;
      let source = NONE;
      if (kind === Operation.allocate || kind === Operation.reuse || kind === Operation.copy) at.ticket++;
      if (kind === Operation.free) value = columns.ticket[at.ticket++]!;
      if (kind === Operation.allocate || kind === Operation.copy || kind === Operation.fill) {
        before = columns.filled_before[at.before++]!;
      }
      if (kind === Operation.copy || kind === Operation.fill) value = columns.filled_after[at.after++]!;
      if (kind === Operation.copy) value = source = columns.source[at.source++]!;
      if (kind === Operation.evict || kind === Operation.cache) value = columns.content[at.content++]!;
      if (kind === Operation.evict) before = columns.hits[at.hits++]!;
      if (kinds !== null && !kinds.has(kind)) continue;
      const block = columns.block[i]!;
      const sequence = columns.sequence[i]!;
      if (filter.block !== null && block !== filter.block && source !== filter.block) continue;
      if (filter.request !== null && (sequence === NONE || memory.requestOf(sequence) !== filter.request))
        continue;
      rows.push({
        step: step.step,
        op,
        kind,
        block,
        cause: columns.cause[i]!,
        sequence,
        label: sequence === NONE ? '' : memory.label(sequence),
        position,
        value,
        before,
      });
    }
  }
  decide(Number.POSITIVE_INFINITY);
  return rows;
}
