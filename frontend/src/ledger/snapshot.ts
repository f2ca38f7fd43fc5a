/** Where a fold is, and all that it knows there: kept, to come back to it. */

import type { BlocksSnapshot } from './blocks';
import type { Lanes } from './digest';
import type { Requests } from './requests';
import type { Pins, Tables } from './tables';

/** Where a fold is in its session, and what it may say of that. */
export interface FoldPlace {
  readonly base: number;
  readonly record: number;
  readonly step: number;
  readonly op: number;
  readonly time: number;
  readonly rest: number;
  readonly loaded: boolean;
  readonly verified: boolean;
}

export function placeOf({ base, record, step, op, time, rest, loaded, verified }: FoldPlace): FoldPlace {
  return { base, record, step, op, time, rest, loaded, verified };
}

/** A whole state of a fold. */
export interface FoldSnapshot extends FoldPlace {
  readonly blocks: BlocksSnapshot;
  readonly tables: Tables;
  readonly pins: Pins;
  readonly requests: Requests;
  readonly lanes: Lanes;
  /** About how much memory it takes. */
  readonly bytes: number;
}
