/**
 * Places of the view, and what somebody may name them by.
 *
 *     step 7, operations 70 … 73     ├─ 70 ─ 71 ─ 72 ─ 73 ─┤
 *     { step: 7, operation: 71 }                 ▲            behind operation 71: it was the last one to be applied
 *     { step: 7, operation: 69 }     ▲                        none was: of the step only the decisions before its first hold
 *     { step: 7, operation: null }                         ▲  the whole step: where its digest is compared
 */

import type { Series } from './series';

export interface Place {
  readonly step: number;
  /** The last operation that is applied, where the view stands within the step; null: behind the whole step. */
  readonly operation: number | null;
}

export type Destination =
  | { readonly kind: 'step'; readonly step: number }
  /** Behind an operation. `step`: of a step without one of its own, or where it is known. */
  | { readonly kind: 'operation'; readonly operation: number; readonly step?: number }
  /** The step that a record belongs to, or that it follows. */
  | { readonly kind: 'record'; readonly record: number }
  /** The last step that was sealed by then; ns since the session's start. */
  | { readonly kind: 'time'; readonly time: number };

export function whole(step: number): Place {
  return { step, operation: null };
}

/** Where a destination lies, as far as the steps are known. */
export function placeOf(to: Destination, series: Series): Place {
  switch (to.kind) {
    case 'step':
      return whole(to.step);
    case 'operation':
      return { step: to.step ?? series.last('op', to.operation), operation: to.operation };
    case 'record':
      return whole(series.last('record', to.record));
    case 'time':
      return whole(series.last('time', to.time));
  }
}
