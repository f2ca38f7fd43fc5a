/** What of a step's record holds where a view stands within the step, behind some of its operations. */

import { decodeOperations } from '../ledger/columns';
import type { Fold } from '../ledger/fold';
import { Cause, Operation } from '../ledger/generated/constants';
import type { Step } from '../ledger/generated/types';
import { changesOf, type StepChanges } from './changes';

/** The last record of which all holds that it tells: tokens are sampled, and ends told, behind a step's operations. */
export function toldBy(fold: Fold): number {
  return fold.rest > 0 ? fold.record - 1 : fold.record;
}

/** The record of the fold's step, as if it had ended where the fold stands. */
export function partOf(step: Step, fold: Fold): Step {
  if (fold.rest === 0 || step.record !== fold.record) return step;
  const columns = decodeOperations(step.operations);
  const done = fold.op - step.op;
  const decisions = (step.decisions ?? []).filter((decision) => decision.op <= fold.op);
  let tokens = 0;
  for (const decision of decisions) if (decision.kind === 'scheduled') tokens += decision.tokens;
  for (let i = 0; i < done; i++) {
    if (columns.kind[i] === Operation.fill && columns.cause[i] === Cause.decode) tokens++;
  }
  const { sampled: _notYet, ...rest } = step;
  return { ...rest, tokens, decisions, operations: { kind: columns.kind.subarray(0, done) } };
}

/** What a step changed; within it: what its last operation changed, and those before it, which are told like fills. */
export function changesAt(step: Step | null, fold: Fold): StepChanges {
  if (step === null || fold.rest === 0 || step.record !== fold.record) {
    return changesOf(step, fold.numBlocks);
  }
  const { kind, block, source } = decodeOperations(step.operations);
  const done = fold.op - step.op;
  let copies = 0;
  for (let i = 0; i < done; i++) if (kind[i] === Operation.copy) copies++;
  const changed = done > 0 ? [block[done - 1]!] : [];
  if (done > 0 && kind[done - 1] === Operation.copy) changed.push(source[copies - 1]!);
  const earlier = new Set([...block.subarray(0, done), ...source.subarray(0, copies)]);
  for (const each of changed) earlier.delete(each);
  return { changed: Uint32Array.from(changed), filled: Uint32Array.from(earlier) };
}

/** A copy on write: a sequence's table points to `target` where it pointed to `source`. */
export interface CopyMade {
  readonly sequence: number;
  readonly source: number;
  readonly target: number;
}

/** The copies on write of a fold's step, up to where it stands within it. */
export function copiesAt(step: Step | null, fold: Fold): readonly CopyMade[] {
  const found: CopyMade[] = [];
  if (step === null || !(step.operations?.kind?.includes(Operation.copy) ?? false)) return found;
  try {
    const { kind, block, sequence, source } = decodeOperations(step.operations);
    const done = fold.rest > 0 && step.record === fold.record ? fold.op - step.op : kind.length;
    for (let i = 0; i < done; i++) {
      if (kind[i] === Operation.copy)
        found.push({ sequence: sequence[i]!, source: source[found.length]!, target: block[i]! });
    }
  } catch {
    // What can't be read is the fold's to report.
  }
  return found;
}
