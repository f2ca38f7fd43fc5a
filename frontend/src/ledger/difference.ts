/**
 * A keyframe that tells of the blocks only what changed since another one, whose columns its reader has.
 *
 *     since R ─ the columns of record R's keyframe ─▶ ████████████████████   the base
 *     changed ─ block numbers, ascending            ─▶    ▼ ▼▼      ▼
 *     blocks  ─ their values, in that order         ─▶    █ ██      █        laid over it: the state
 *
 * It is an answer to a seek, never a record: a fold that meets one among records refuses it. All else that it tells is whole.
 */

import { u32 } from './columns';
import { FrameError } from './frame';
import type { BlockColumns, Keyframe } from './generated/types';

/** The columns of all blocks, as the keyframe of a record told them. */
export interface Base {
  readonly record: number;
  readonly columns: BlockColumns;
}

/** Throws a {@link FrameError} for a keyframe that is no state by itself. */
export function refuseDifference(keyframe: Keyframe): void {
  const { since } = keyframe;
  if (since != null)
    throw new FrameError(`a keyframe that tells only what changed since record ${since} is no record`);
}

/** The columns on which a keyframe's values are to be laid; null: on none, it tells of all blocks. */
export function baseOf(keyframe: Keyframe, base: Base | null): Base | null {
  const { since } = keyframe;
  if (since == null) return null;
  if (base === null || base.record !== since) {
    throw new FrameError(
      `the keyframe of record ${keyframe.record} tells what changed since record ${since}; ` +
        (base === null ? 'nothing was kept of that' : `what is here is that of record ${base.record}`),
    );
  }
  return base;
}

/** The numbers of the blocks that changed. Throws a {@link FrameError} unless they ascend and are in the pool. */
export function changedIn({ changed: raw }: Keyframe, size: number): Uint32Array {
  const changed = u32(raw, 'changed');
  let last = -1;
  for (let i = 0; i < changed.length; i++) {
    const block = changed[i]!;
    if (block <= last || block >= size) {
      throw new FrameError(
        `keyframe column 'changed' names block ${block} behind ${last}: it ascends, in a pool of ${size}`,
      );
    }
    last = block;
  }
  return changed;
}
