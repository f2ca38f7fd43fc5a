/**
 * What a step moved in the free queue, in order.
 *
 *             ┌─ hit: taken out of the middle
 *     taken ◀─┴──── head ■■■■■■■■■■ tail ◀──── joined
 *     allocated, or the target of a copy         freed (at the head what holds no content may join)
 */

import { decodeOperations } from '../ledger/columns';
import type { Fold } from '../ledger/fold';
import { NONE, Operation } from '../ledger/generated/constants';
import type { Step } from '../ledger/generated/types';

export const MOVE_KINDS = ['taken', 'hit', 'joined', 'joinedHead'] as const;
export type MoveKind = (typeof MOVE_KINDS)[number];

export interface Move {
  readonly block: number;
  /** A code of {@link Cause}. */
  readonly cause: number;
  /** Whose it is or was; null: nobody's. */
  readonly owner: string | null;
}

export interface Moves {
  /** The first ones of each kind, in the order in which they were made. */
  readonly kinds: Readonly<Record<MoveKind, readonly Move[]>>;
  /** How many there are of each. */
  readonly counts: Readonly<Record<MoveKind, number>>;
  /** Blocks that lost their content on the way, the first ones. */
  readonly evicted: readonly number[];
}

/** So many of each kind are told. */
const MOST = 40;

function kindOf(operation: number, ticket: number): MoveKind {
  if (operation === Operation.reuse) return 'hit';
  if (operation !== Operation.free) return 'taken';
  return ticket < 0 ? 'joinedHead' : 'joined';
}

/** The moves of a fold's step, up to where it stands within it; null: its record is not here, or can't be read. */
export function movesAt(step: Step | null, fold: Fold): Moves | null {
  if (step === null || step.step !== fold.step) return null;
  const kinds: Record<MoveKind, Move[]> = { taken: [], hit: [], joined: [], joinedHead: [] };
  const counts: Record<MoveKind, number> = { taken: 0, hit: 0, joined: 0, joinedHead: 0 };
  const evicted: number[] = [];
  try {
    const { kind, block, cause, sequence, ticket } = decodeOperations(step.operations);
    const done = fold.rest > 0 ? fold.op - step.op : kind.length;
    let at = 0;
    for (let i = 0; i < done; i++) {
      const operation = kind[i]!;
      if (operation === Operation.evict && evicted.length < MOST) evicted.push(block[i]!);
      const moves =
        operation === Operation.allocate ||
        operation === Operation.reuse ||
        operation === Operation.copy ||
        operation === Operation.free;
      if (!moves) continue;
      const own = kindOf(operation, ticket[at++]!);
      if (counts[own]++ >= MOST) continue;
      const owner = sequence[i] === NONE ? null : fold.requests.memory.label(sequence[i]!);
      kinds[own].push({ block: block[i]!, cause: cause[i]!, owner });
    }
  } catch {
    // What can't be read is the fold's to report.
    return null;
  }
  return { kinds, counts, evicted };
}
