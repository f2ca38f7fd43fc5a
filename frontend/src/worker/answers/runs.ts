/**
 * The free runs of a contiguous cache, by address: a sequence gets the first one that is long enough.
 *
 *     0 ■■■■····■■··········■■ 21      4 – 7 (4)    10 – 19 (10)
 */

import type { Blocks } from '../../ledger/blocks';

/** Consecutive free blocks, from `first` to `last`. */
export interface Run {
  readonly first: number;
  readonly last: number;
}

export interface RunsAnswer {
  /** The first ones. */
  readonly runs: readonly Run[];
  readonly count: number;
  readonly largest: Run | null;
  /** Free blocks, all runs together. */
  readonly free: number;
}

export function lengthOf(run: Run): number {
  return run.last - run.first + 1;
}

export function runsAnswer(blocks: Blocks, k: number): RunsAnswer {
  const runs: Run[] = [];
  let count = 0;
  let largest: Run | null = null;
  for (let b = 0; b < blocks.size; b++) {
    if (blocks.count[b] !== 0) continue;
    const run = runAt(blocks, b)!;
    count++;
    if (runs.length < k) runs.push(run);
    if (largest === null || lengthOf(run) > lengthOf(largest)) largest = run;
    b = run.last;
  }
  return { runs, count, largest, free: blocks.tally[0]! + blocks.tally[1]! };
}

/** The free run that a block is in; null: it is in use. */
export function runAt(blocks: Blocks, block: number): Run | null {
  if (blocks.count[block] !== 0) return null;
  let first = block;
  let last = block;
  while (first > 0 && blocks.count[first - 1] === 0) first--;
  while (last + 1 < blocks.size && blocks.count[last + 1] === 0) last++;
  return { first, last };
}
