/** A fold's state as plain JSON values: the twin of `tests/plain_state.py`, what `window.kvarium.state()` answers. */

import type { LaneName } from './digest';
import type { Fold } from './fold';
import { NONE } from './generated/constants';
import type { RequestStateName } from './requests';

export interface PlainState {
  record: number;
  step: number;
  op: number;
  lanes: Record<LaneName, [number, number]>;
  /** Blocks that are active, shared, cached, free. */
  usage: [number, number, number, number];
  generation: number[];
  count: number[];
  /** null: not in the free queue. */
  ticket: (number | null)[];
  content: number[];
  filled: number[];
  hits: number[];
  /** (sequence, group, position, block), in this order. */
  tables: [number, number, number, number][];
  /** (block, pin), a row for each time that it holds. */
  pins: [number, number][];
  /** (request, state, place). */
  requests: [number, RequestStateName, number][];
}

export function plainState(fold: Fold): PlainState {
  const { blocks } = fold;
  const usage = fold.usage();
  const tables: PlainState['tables'] = [];
  for (const table of fold.tables.map.values()) {
    for (let position = 0; position < table.end; position++) {
      const block = table.blocks[position]!;
      if (block !== NONE) tables.push([table.sequence, table.group, position, block]);
    }
  }
  tables.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  const pins: PlainState['pins'] = [];
  for (const [block, held] of fold.pins.map) {
    for (const [pin, times] of held) for (let i = 0; i < times; i++) pins.push([block, pin]);
  }
  pins.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return {
    record: fold.record,
    step: fold.step,
    op: fold.op,
    lanes: fold.lanes.words(),
    usage: [usage.active, usage.shared, usage.cached, usage.free],
    generation: Array.from(blocks.generation),
    count: Array.from(blocks.count),
    ticket: Array.from(blocks.ticket, (ticket) => (Number.isNaN(ticket) ? null : ticket)),
    content: Array.from(blocks.content),
    filled: Array.from(blocks.filled),
    hits: Array.from(blocks.hits),
    tables,
    pins,
    requests: [...fold.requests.rows]
      .sort(([a], [b]) => a - b)
      .map(([request, row]) => [request, row.state, row.place]),
  };
}
