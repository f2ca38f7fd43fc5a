/** How many of the requests have a row, left of the axis and the minimap, where nothing else is. */

import { lanes } from '../../store/ledger';
import { text } from '../../text';
import { AXIS_GAP, bottomOf } from './draw';
import { layout } from './range';

const words = text.timeline.rows;

export function RowCount() {
  const answer = lanes.value;
  const { left, axis, minimap, rows } = layout.value;
  if (answer === null) return null;
  const count = Math.min(rows, answer.rows.length);
  if (count === 0 || count >= answer.total) return null;
  return (
    <div
      class="rowcount"
      title={words.title(answer.offset + 1, answer.offset + count, answer.total)}
      style={{
        top: `${bottomOf(layout.value)}px`,
        width: `${left - 12}px`,
        height: `${AXIS_GAP + axis + minimap}px`,
      }}
    >
      {words.shown(count, answer.total)}
    </div>
  );
}
