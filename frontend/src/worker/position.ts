/** Where the view of a session stands, and how far the session goes, as the page is told. */

import type { Position } from './protocol';
import type { Session } from './session';

export function positionOf(session: Session): Position {
  const { fold, mode, navigator, series, lastStep, head, table, transport } = session;
  const goal = mode === 'follow' ? null : navigator.goal;
  const { current } = session;
  const isWithin = mode !== 'follow' && fold.rest > 0 && current !== null;
  const first = isWithin ? current.op : fold.op;
  const lastTime = lastStep < 0 ? 0 : series.get('time', lastStep);
  return {
    mode,
    loaded: fold.loaded,
    record: fold.record,
    step: fold.step,
    op: fold.op,
    time: fold.time,
    within: isWithin ? { done: fold.op - first, of: fold.op - first + fold.rest } : null,
    operation: goal !== null ? goal.operation : isWithin ? fold.op - 1 : null,
    lastStep,
    lastRecord: head.lastRecord,
    lastOp: Math.max(table.lastOp, head.fold.op - 1, fold.op + fold.rest - 1),
    lastTime: Number.isNaN(lastTime) ? head.fold.time : lastTime,
    moving: mode !== 'follow' && navigator.waiting,
    stalled: mode === 'play' && transport.stalled,
    target: goal?.step ?? null,
  };
}
