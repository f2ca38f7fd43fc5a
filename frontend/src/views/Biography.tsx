/** What happened to a block or a request, newest first, as far as it is loaded. */

import { Operation } from '../ledger/generated/constants';
import { jumpToChange } from '../store/clock';
import { hello, position, tell } from '../store/ledger';
import { ofEvent } from '../store/why';
import { text } from '../text';
import type { EventList, EventRow } from '../worker/answers/events';
import { BreakLike } from './BreakLike';
import { Kind, StepLink, Who } from './EventLine';
import { AskWhy } from './why/AskWhy';

const LINES = 200;

/** A row, or a run of fills of one sequence as one. */
interface Entry {
  readonly row: EventRow;
  readonly times: number;
  /** The fill before the first of the run. */
  readonly from: number;
}

/** A request begins when it is submitted: before that there is nothing to load. */
function isBeginning(row: EventRow): boolean {
  return typeof row.kind !== 'number' && row.kind.kind === 'submitted';
}

/** Newest first; single tokens that fill a block one after the other are one entry. */
function entriesOf(rows: readonly EventRow[]): Entry[] {
  const entries: Entry[] = [];
  for (const row of rows) {
    const last = entries.at(-1);
    const runs =
      last !== undefined &&
      row.kind === Operation.fill &&
      last.row.kind === Operation.fill &&
      last.row.sequence === row.sequence &&
      last.row.value === row.before;
    if (runs) entries[entries.length - 1] = { row, times: last.times + 1, from: last.from };
    else entries.push({ row, times: 1, from: row.before });
  }
  return entries.reverse();
}

/** What lies before the loaded part, and how to get it. */
function Earlier({ list }: { readonly list: EventList }) {
  if (list.fromStep <= 0) return null;
  return (
    <>
      {text.inspector.notLoaded(list.fromStep)}{' '}
      <button type="button" class="link" onClick={() => tell({ kind: 'earlier' })}>
        {text.inspector.loadEarlier}
      </button>
    </>
  );
}

function AskEvent({ row }: { readonly row: EventRow }) {
  const asked = ofEvent(row);
  return asked === null ? null : <AskWhy kind={asked.kind} ask={() => asked} />;
}

export function Biography({
  list,
  own,
}: {
  readonly list: EventList | null;
  readonly own: 'block' | 'request';
}) {
  const entries = entriesOf(list?.rows.slice(0, list.now).slice(-LINES) ?? []);
  return (
    <>
      <div class="head">
        <h2>{own === 'block' ? text.panels.biography : text.panels.story}</h2>
        <span class="tools">
          <button
            type="button"
            class="plain"
            title={`${text.inspector.previous} ([)`}
            aria-label={text.inspector.previous}
            onClick={() => jumpToChange(-1)}
          >
            ↑
          </button>
          <button
            type="button"
            class="plain"
            title={`${text.inspector.nextChange} (])`}
            aria-label={text.inspector.nextChange}
            onClick={() => jumpToChange(1)}
          >
            ↓
          </button>
        </span>
      </div>
      <div class="lines life">
        {entries.map(({ row, times, from }, i) => (
          <div
            key={`${row.op}-${entries.length - i}`}
            class={`line ${row.step === position.value.step ? 'present' : ''}${row.kind === Operation.allocate ? ' birth' : ''}`}
          >
            <StepLink step={row.step} />
            <Kind row={row} />
            <span class="what">
              <Who row={row} own={own} />
              {times > 1
                ? text.inspector.fills(from, row.value, hello.value?.block_size ?? 0, times)
                : text.event(row, hello.value?.block_size ?? 0)}
              <AskEvent row={row} />
            </span>
            <BreakLike row={row} byKeys />
          </div>
        ))}
        <p class="faint quiet">
          {entries.length === 0 && `${text.inspector.noBiography} `}
          {list?.complete === true && !(entries.length > 0 && isBeginning(entries.at(-1)!.row)) && (
            <Earlier list={list} />
          )}
        </p>
      </div>
    </>
  );
}
