/** The rows of an answer: only those that can be seen are in the document. */

import { useMemo, useRef, useState } from 'preact/hooks';
import { csvOf } from '../../store/csv';
import { isNumber, LIMITS, limit, type Rows, sorted, sorting } from '../../store/sql';
import { save } from '../../store/transfers';
import { text } from '../../text';
import { useVirtual } from '../virtual';
import { Cell, shownValue } from './Cell';

const ROW = 21;
/** So many rows say how wide the columns are, in characters from and to. */
const LOOKED_AT = 300;
const NARROWEST = 5;
const WIDEST = 44;

function widthsOf({ columns, rows }: Rows): number[] {
  return columns.map((name, column) => {
    const widest = rows
      .slice(0, LOOKED_AT)
      .reduce((most, row) => Math.max(most, shownValue(row[column] ?? null).length), name.length + 2);
    return Math.min(WIDEST, Math.max(NARROWEST, widest));
  });
}

/** By this column; then the other way round; then as the rows came. */
function sortBy(column: number, type: string): void {
  const now = sorting.peek();
  const first = isNumber(type);
  if (now?.column !== column) sorting.value = { column, descends: first };
  else sorting.value = now.descends === first ? { column, descends: !first } : null;
}

function Tools({ answer, places }: { readonly answer: Rows; readonly places: readonly number[] }) {
  const [said, setSaid] = useState<string | null>(null);
  const rows = () => places.map((place) => answer.rows[place]!);
  const csv = (): string => csvOf(answer.columns, rows());
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(csv());
      setSaid(text.sql.copied);
    } catch {
      setSaid(text.sql.notCopied);
    }
    setTimeout(() => setSaid(null), 4000);
  };
  const { columns, types, truncated } = answer;
  return (
    <div class="told">
      <b class="num">{text.sql.count(answer.rows.length, truncated)}</b>
      <span class="num dim">{text.sql.took(answer.elapsed_ms)}</span>
      {truncated && (
        <span class="warn" title={text.sql.cutTitle}>
          {text.sql.cut(limit.value < LIMITS.at(-1)!)}
        </span>
      )}
      <span class="space" />
      <span class="dim" role="status">
        {said}
      </span>
      <button type="button" class="plain" onClick={() => void copy()}>
        {text.sql.copy}
      </button>
      <button
        type="button"
        class="plain"
        title={text.sql.saveAs(text.sql.csv)}
        onClick={() => save(new Blob([csv()], { type: 'text/csv' }), 'kvarium.csv')}
      >
        {text.sql.csv}
      </button>
      <button
        type="button"
        class="plain"
        title={text.sql.saveAs(text.sql.json)}
        onClick={() =>
          save(new Blob([JSON.stringify({ columns, types, rows: rows(), truncated })]), 'kvarium.json')
        }
      >
        {text.sql.json}
      </button>
    </div>
  );
}

export function Answer({ answer }: { readonly answer: Rows }) {
  const scroller = useRef<HTMLDivElement>(null);
  const by = sorting.value;
  const places = useMemo(() => sorted(answer, by), [answer, by]);
  const widths = useMemo(() => widthsOf(answer), [answer]);
  const virtual = useVirtual(
    { count: places.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, overscan: 6 },
    places.length,
  );
  const items = virtual.getVirtualItems();
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const side = (column: number): string => (isNumber(answer.types[column] ?? '') ? 'right' : '');
  const mark = (column: number): string => (by?.column === column ? (by.descends ? ' ▼' : ' ▲') : '');
  return (
    <>
      <Tools answer={answer} places={places} />
      <section
        class="scroller answer"
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling table has to take the focus to be scrolled by keys
        tabIndex={0}
        aria-label={text.sql.count(places.length, answer.truncated)}
      >
        <table class="num" aria-rowcount={places.length + 1}>
          <colgroup>
            {widths.map((width, column) => (
              <col key={`${column} ${answer.columns[column]}`} style={{ width: `${width + 2}ch` }} />
            ))}
            <col />
          </colgroup>
          <thead>
            <tr>
              {answer.columns.map((name, column) => (
                <th
                  key={`${column} ${name}`}
                  class={side(column)}
                  aria-sort={by?.column !== column ? 'none' : by.descends ? 'descending' : 'ascending'}
                >
                  <button
                    type="button"
                    class="plain num"
                    title={`${text.sql.sort(name)} · ${answer.types[column]}`}
                    onClick={() => sortBy(column, answer.types[column] ?? '')}
                  >
                    {name}
                    <i aria-hidden="true">{mark(column)}</i>
                  </button>
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {/* As high as the rows that are not here. */}
            <tr style={{ height: `${items[0]?.start ?? 0}px` }} />
            {items.map((item) => (
              <tr key={item.index} class="row" aria-rowindex={item.index + 2}>
                {answer.columns.map((name, column) => (
                  <td key={`${column} ${name}`} class={side(column)}>
                    <Cell column={name} value={answer.rows[places[item.index]!]![column] ?? null} />
                  </td>
                ))}
                <td />
              </tr>
            ))}
            <tr style={{ height: `${below}px` }} />
          </tbody>
        </table>
        {places.length === 0 && <p class="empty dim">{text.sql.none}</p>}
      </section>
    </>
  );
}
