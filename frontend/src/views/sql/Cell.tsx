/** A value of an answer: a link where it names something of the session. */

import { integer } from '../../format';
import { jump, jumpTo } from '../../store/clock';
import { plain, type Value } from '../../store/csv';
import { selectBlock, selectRequest, selectSequence } from '../../store/selection';
import { linkOf } from '../../store/sql';
import { text } from '../../text';

export function shownValue(value: Value): string {
  return typeof value === 'number' && Number.isInteger(value) ? integer(value) : plain(value);
}

const GO = {
  step: jump,
  op: (operation: number) => jumpTo({ kind: 'operation', operation }),
  block: selectBlock,
  request: selectRequest,
  sequence: selectSequence,
} as const;

export function Cell({ column, value }: { readonly column: string; readonly value: Value }) {
  if (value === null) return <span class="faint">–</span>;
  const link = typeof value === 'number' && Number.isInteger(value) && value >= 0 ? linkOf(column) : null;
  const said = shownValue(value);
  if (link === null) return <span title={said.length > 40 ? said : undefined}>{said}</span>;
  return (
    <button type="button" class="link" title={text.sql.links[link]} onClick={() => GO[link](value as number)}>
      {said}
    </button>
  );
}
