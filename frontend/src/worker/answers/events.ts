/** Operations and decisions as a plain list: those of a step that meet a filter. */

import type { Candidate } from '../../filter/match';
import { decodeOperations, HOLDS } from '../../ledger/columns';
import { NONE, Operation } from '../../ledger/generated/constants';
import type { Gap, Step } from '../../ledger/generated/types';
import type { Decision, RequestMemory } from '../../ledger/requests';
import type { Lives } from '../lives';

/** Records that are lost for all. */
export interface Lost {
  readonly kind: 'gap';
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

export interface EventRow {
  readonly record: number;
  /** Its place among the events of its record. */
  readonly index: number;
  readonly step: number;
  readonly op: number;
  /** ns since the session's start, when its step was sealed. */
  readonly time: number;
  /** The code of an operation, a decision, or a gap. */
  readonly kind: number | Decision | Lost;
  readonly block: number;
  /** Of its block as it leaves it; null: not known. */
  readonly generation: number | null;
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
  /** The first step that was looked at; is it the first that there is? */
  readonly fromStep: number;
  readonly complete: boolean;
}

function isBirth(kind: number): boolean {
  return kind === Operation.allocate || kind === Operation.copy;
}

/**
 * The rows of one step that are wanted, in order. `memory` knows the requests of the sequences. `lives`, at the step's beginning,
 * is brought to its end.
 */
export function rowsOf(
  step: Step,
  isWanted: (event: Candidate) => boolean,
  memory: RequestMemory,
  lives: Lives | null = null,
): EventRow[] {
  const rows: EventRow[] = [];
  const { record, step: number, sealed: time } = step;
  const event: Candidate = {
    record,
    step: number,
    time,
    kind: 0,
    decision: null,
    cause: 0,
    block: NONE,
    source: NONE,
    generation: -1,
    sourceGeneration: -1,
    sequence: NONE,
    content: NONE,
  };
  const decisions = step.decisions ?? [];
  let index = 0;
  let next = 0;
  const decide = (op: number): void => {
    for (; next < decisions.length && decisions[next]!.op <= op; next++, index++) {
      const decision = decisions[next]!;
      const sequence = 'sequence' in decision ? decision.sequence : NONE;
      event.kind = 0;
      event.decision = decision;
      event.sequence = sequence;
      event.block = event.source = event.content = NONE;
      if (!isWanted(event)) continue;
      rows.push({
        record,
        index,
        step: number,
        op: decision.op,
        time,
        kind: decision,
        block: NONE,
        generation: null,
        cause: 0,
        sequence,
        label: sequence === NONE ? `r${decision.request}` : memory.label(sequence),
        position: NONE,
        value: 0,
        before: 0,
      });
    }
  };
  const columns = decodeOperations(step.operations);
  const at = { holder: 0, ticket: 0, before: 0, after: 0, source: 0, content: 0, hits: 0 };
  for (let i = 0; i < columns.length; i++, index++) {
    const op = step.op + i;
    decide(op);
    const kind = columns.kind[i]!;
    const block = columns.block[i]!;
    const position = HOLDS[kind] === 1 ? columns.position[at.holder++]! : NONE;
    let value = 0;
    let before = 0;
    event.source = event.content = NONE;
    if (isBirth(kind)) lives?.pass(block, 1);
    if (isBirth(kind) || kind === Operation.reuse) at.ticket++;
    if (kind === Operation.free) value = columns.ticket[at.ticket++]!;
    if (isBirth(kind) || kind === Operation.fill) before = columns.filled_before[at.before++]!;
    if (kind === Operation.copy || kind === Operation.fill) value = columns.filled_after[at.after++]!;
    if (kind === Operation.copy) value = event.source = columns.source[at.source++]!;
    if (kind === Operation.evict || kind === Operation.cache) {
      value = event.content = columns.content[at.content++]!;
    }
    if (kind === Operation.evict) before = columns.hits[at.hits++]!;
    const sequence = columns.sequence[i]!;
    const generation = lives === null ? null : lives.of(block);
    event.kind = kind;
    event.decision = null;
    event.block = block;
    event.cause = columns.cause[i]!;
    event.sequence = sequence;
    event.generation = generation ?? -1;
    event.sourceGeneration = lives === null || event.source === NONE ? -1 : lives.of(event.source);
    if (!isWanted(event)) continue;
    rows.push({
      record,
      index,
      step: number,
      op,
      time,
      kind,
      block,
      generation,
      cause: event.cause,
      sequence,
      label: sequence === NONE ? '' : memory.label(sequence),
      position,
      value,
      before,
    });
  }
  decide(Number.POSITIVE_INFINITY);
  return rows;
}

/** Bring lives from a step's end to its beginning. */
export function passBack(step: Step, lives: Lives): void {
  const { kind, block } = decodeOperations(step.operations);
  for (let i = 0; i < kind.length; i++) if (isBirth(kind[i]!)) lives.pass(block[i]!, -1);
}

/** Records that are lost, as a row: behind which step they are is for others to know. */
export function lostRow({ record, time, first, last, reason }: Gap): EventRow {
  return {
    record,
    index: 0,
    step: -1,
    op: 0,
    time,
    kind: { kind: 'gap', first, last, reason },
    block: NONE,
    generation: null,
    cause: 0,
    sequence: NONE,
    label: '',
    position: NONE,
    value: 0,
    before: 0,
  };
}
