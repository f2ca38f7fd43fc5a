/** A row of the block tables, but for its chips, which are drawn on a canvas over all rows. */

import { duration } from '../format';
import { hover, selection } from '../store/selection';
import { text } from '../text';
import type { RowOrder, TableRow } from '../worker/answers/tables';
import { NOT_RECORDED } from '../worker/careers';
import { hotBlocks, type Slot, spoken } from './chips';

/** CSS pixels that a level of branches takes, and how many of them are drawn. */
const LEVEL = 11;
const MOST_LEVELS = 6;

/** How far the chips of a row stand in, where branches are drawn before them. */
export function indentOf(depth: number): number {
  return LEVEL * Math.min(depth, MOST_LEVELS);
}

const words = text.tables;

/** What the row is ordered by; null: rows are as they came. */
function figureOf(row: TableRow, order: RowOrder): string | null {
  if (order === 'blocks') return words.blockCount(row.length);
  if (order === 'firstToken') {
    if (row.firstToken === NOT_RECORDED) return words.notRecorded;
    return row.firstToken === null ? words.noToken : words.firstToken(duration(row.firstToken));
  }
  if (order === 'preemptions')
    return row.preemptions === NOT_RECORDED ? words.notRecorded : words.preempted(row.preemptions);
  return null;
}

function doingOf({ state, how, tokens, prompt }: TableRow): string {
  if (state === 'finished') return words.ended(how ?? '');
  if (state !== 'running') return words.states[state];
  return tokens < prompt ? words.prefill(tokens, prompt) : words.decode;
}

/** Lines from the branches above to those below, and an elbow to this one. */
function Lines({ row }: { readonly row: TableRow }) {
  const { branch } = row;
  if (branch === null || branch.depth === 0) return null;
  const levels = branch.lines.slice(1, 1 + MOST_LEVELS);
  return (
    <>
      {levels.map((goesOn, i) => {
        const isOwn = i === levels.length - 1;
        if (!isOwn && !goesOn) return null;
        const kind = isOwn ? (goesOn ? 'fork' : 'end') : 'on';
        return <i key={i} class={`branch ${kind}`} style={{ left: `${LEVEL * i + 9}px` }} />;
      })}
    </>
  );
}

interface RowProps {
  readonly row: TableRow;
  readonly order: RowOrder;
  readonly slots: readonly Slot[];
  readonly top: number;
  readonly height: number;
}

export function SequenceRow({ row, order, slots, top, height }: RowProps) {
  const selected =
    selection.value.request === row.request || selection.value.sequence === (row.sequence ?? -1);
  const hot = hotBlocks(hover.value.block, selection.value.block);
  const holds = slots.some((slot) => !('more' in slot) && hot.has(slot.block));
  const figure = figureOf(row, order);
  const last = row.copied.at(-1);
  return (
    <div
      class={`sequence${selected ? ' selected' : ''}${holds ? ' holds' : ''}`}
      style={{ transform: `translateY(${top}px)`, height: `${height}px` }}
      role="option"
      tabIndex={-1}
      aria-selected={selected}
      {...(row.sequence === null ? {} : { 'data-sequence': row.sequence })}
      data-request={row.request}
    >
      <Lines row={row} />
      <div class="title" style={{ paddingLeft: `${indentOf(row.branch?.depth ?? 0)}px` }}>
        <span class="id">{row.label}</span>{' '}
        {row.parent !== null && (
          <span class="faint parent" title={words.fork(row.parent)}>
            ← {row.parent}
          </span>
        )}{' '}
        <span class={`doing ${row.state}`}>{doingOf(row)}</span>{' '}
        {last !== undefined && (
          <span class="copying num" title={words.copyTitle(last.source, last.target)}>
            {words.copy(last.source, last.target)}
          </span>
        )}{' '}
        <span class="username" title={row.name}>
          {row.name}
        </span>{' '}
        <span class={`tokens num${figure === null ? '' : ' figure'}`}>
          {figure ?? (row.length > 0 ? words.tokens(row.tokens) : '')}
        </span>{' '}
        <span class="unseen">{spoken(slots)}</span>
      </div>
    </div>
  );
}
