/**
 * Every event of the session, or those that meet a filter, by absolute place.
 *
 *     place ─▶ an event and how far it is scrolled past        null: the list stays with the view
 *     strip ─▶ the whole session: dragging it goes anywhere
 *
 * Only a window of rows is here, around the place; the worker finds what lies beside it as the reader comes near.
 */

import type { ComponentChild } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { clock, integer } from '../format';
import { eventFilter } from '../store/eventFilter';
import { goToEvent, selectedEvent } from '../store/eventSteps';
import { events, hello, position, wantEvents } from '../store/ledger';
import { hoverBlock, selection } from '../store/selection';
import { text } from '../text';
import type { EventRow } from '../worker/answers/events';
import { comparePlaces, type EventPlace } from '../worker/eventPage';
import type { ListingAnswer } from '../worker/listing';
import { BreakLike } from './BreakLike';
import { BlockLink, Kind, StepLink, Who } from './EventLine';
import { EventStrip } from './EventStrip';
import { EventTools } from './EventTools';

const ROW = 20;
/** So many rows are wanted on either side of the place, and more of them when fewer than these are left. */
const WINDOW = 240;
const FEWEST = 80;
/** Where in the list the view stands, from the top. */
const PRESENT = 0.72;

/** The row at the top and how many pixels of it are scrolled past; or an operation whose row is not here yet. */
type Where = { readonly top: EventPlace; readonly past: number } | { readonly op: number };

function indexAt(rows: readonly EventRow[], isBehind: (row: EventRow) => boolean): number {
  const found = rows.findIndex(isBehind);
  return found < 0 ? rows.length : found;
}

/** How far the list is scrolled, in pixels from its first row; null: that place is not here. */
function scrolled(list: ListingAnswer, where: Where | null, height: number): number | null {
  const { rows } = list;
  if (where === null) return (list.now - Math.floor((height / ROW) * PRESENT)) * ROW;
  if ('top' in where) {
    const index = indexAt(rows, (row) => comparePlaces(row, where.top) >= 0);
    const isHere = index < rows.length || list.ends;
    const isIn = rows.length > 0 && (list.begins || comparePlaces(where.top, rows[0]!) >= 0);
    return isHere && isIn ? index * ROW + where.past : null;
  }
  const { at } = list.wish;
  if (at === null || !('op' in at) || at.op !== where.op) return null;
  return list.at * ROW;
}

/** No further than the rows that are here. */
function bounded(list: ListingAnswer, y: number, height: number): number {
  return Math.max(0, Math.min(y, list.rows.length * ROW - height));
}

function EventLine({
  row,
  before,
  isLater,
}: {
  row: EventRow;
  before: EventRow | undefined;
  isLater: boolean;
}) {
  const { block, sequence } = selection.value;
  const isHot = (block !== null && row.block === block) || (sequence !== null && row.sequence === sequence);
  const chosen = selectedEvent.value;
  const classes = [
    'event',
    isLater ? 'later' : '',
    row.step === position.value.step ? 'present' : '',
    row.step !== before?.step ? 'begins' : '',
    isHot ? 'hot' : '',
    chosen !== null && comparePlaces(chosen, row) === 0 ? 'chosen' : '',
  ];
  return (
    <div class={classes.join(' ')}>
      <span class="num record faint">{integer(row.record)}</span>
      <StepLink step={row.step} />
      <span class="num time faint">{clock(row.time)}</span>
      <button type="button" class="plain goes" title={text.events.goTo(row)} onClick={() => goToEvent(row)}>
        <Kind row={row} />
      </button>
      <BlockLink row={row} />
      <span class="num who">
        <Who row={row} own="block" />
      </span>
      {/* The same again, wide enough to be hit; the keys need one only. */}
      <button type="button" class="plain goes what" tabIndex={-1} onClick={() => goToEvent(row)}>
        {text.event(row, hello.value?.block_size ?? 0)}
      </button>
      {/* By keys an event is selected first: b, or the button above the list. */}
      <BreakLike row={row} byKeys={false} />
    </div>
  );
}

/** What stands in the place of rows that are not here. */
/** What could not be had, and the way to ask for it again. */
function Fault({ fault }: { readonly fault: string }) {
  const again = (): void => {
    const wish = wantEvents.peek();
    if (wish !== null) wantEvents.value = { ...wish };
  };
  return (
    <>
      {text.events.fault(fault)}{' '}
      <button type="button" class="link" onClick={again}>
        {text.sessions.retry}
      </button>
    </>
  );
}

function Nothing({ list, where }: { list: ListingAnswer | null; where: Where | null }) {
  const told = ((): ComponentChild => {
    if (list?.fault) return <Fault fault={list.fault} />;
    if (where !== null && 'op' in where) return text.events.on(where.op);
    if (list === null) return '';
    if (!(list.begins && list.ends)) return text.events.searching(list.fromStep, list.toStep);
    return list.wish.filter.length === 0 ? text.events.emptyStep : text.events.empty;
  })();
  return (
    <p class="empty dim" role="status">
      {told}
    </p>
  );
}

export function Events() {
  const scroller = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(400);
  const [where, setWhere] = useState<Where | null>(null);
  /** The last operation when the reader left the live end. */
  const left = useRef(0);
  const { step, mode, lastOp, op } = position.value;
  const list = events.value;
  const filter = eventFilter.value;

  useEffect(() => {
    const at = where === null ? null : 'top' in where ? where.top : where;
    const wish = wantEvents.peek();
    const isThere = at === null ? wish?.at === null : 'record' in at && isInside(list, at);
    // A wish that is told again is a search that is begun again, where the one before failed.
    if (wish !== null && wish.filter === filter && (at === null) === (wish.at === null) && isThere) return;
    wantEvents.value = { filter, at, before: WINDOW, after: WINDOW };
  }, [filter, where, list]);
  useEffect(
    () => () => {
      wantEvents.value = null;
    },
    [],
  );
  useLayoutEffect(() => {
    const element = scroller.current!;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // Whoever moves the view sees where it stands, unless it was a click on what is here.
  const shown = useRef({ step, mode });
  useEffect(() => {
    const before = shown.current;
    shown.current = { step, mode };
    if (mode === 'follow' && before.mode === 'follow') return;
    if (before.step !== step && selectedEvent.peek()?.step !== step) setWhere(null);
  }, [step, mode]);
  // An event that was stepped to is brought into view, unless it can be seen.
  const chosen = selectedEvent.value;
  const isSeen = useRef<(row: EventRow) => boolean>(() => true);
  useEffect(() => {
    if (chosen !== null && !isSeen.current(chosen)) setWhere(null);
  }, [chosen]);
  // Another filter is another list: it begins where the view stands.
  useEffect(() => setWhere(null), [filter]);

  const found = list === null ? null : scrolled(list, where, height);
  const y = list === null || found === null ? null : bounded(list, found, height);
  const rows = list?.rows ?? [];
  const first = y === null ? 0 : Math.floor(y / ROW);
  const top = y === null ? undefined : rows[first];

  const scrollBy = (pixels: number): void => {
    if (list === null || y === null || rows.length === 0) return;
    if (where === null) left.current = lastOp;
    const next = bounded(list, y + pixels, height);
    const index = Math.min(rows.length - 1, Math.floor(next / ROW));
    const row = rows[index]!;
    setWhere({ top: { record: row.record, index: row.index }, past: next - index * ROW });
  };
  const wheel = useRef(scrollBy);
  wheel.current = scrollBy;
  useEffect(() => {
    const element = scroller.current!;
    const onWheel = (event: WheelEvent): void => {
      if (event.ctrlKey) return;
      event.preventDefault();
      wheel.current(event.deltaMode === 1 ? event.deltaY * ROW : event.deltaY);
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(ROW, height - 2 * ROW);
    const by = { ArrowDown: ROW, ArrowUp: -ROW, PageDown: page, PageUp: -page }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    scrollBy(by);
  };
  const goToOp = (to: number): void => {
    if (where === null) left.current = lastOp;
    setWhere({ op: Math.max(0, Math.min(lastOp, Math.round(to))) });
  };

  const shownOp = where !== null && 'op' in where ? where.op : (top?.op ?? op);
  const newer = mode === 'follow' && where !== null ? lastOp - left.current : 0;
  const seen = y === null ? [] : rows.slice(first, first + Math.ceil(height / ROW) + 1);
  isSeen.current = (row) => seen.some((each) => comparePlaces(each, row) === 0);
  return (
    <>
      <EventTools />
      <div class="eventlist">
        <div class="eventhead faint" aria-hidden="true">
          {Object.entries(text.events.columns).map(([name, title]) => (
            <span key={name} class={name}>
              {title}
            </span>
          ))}
        </div>
        <div
          class="events"
          id="events"
          ref={scroller}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling list has to take the focus to be scrolled by keys
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label={text.panels.events}
          data-panel="events"
          onKeyDown={onKeyDown}
          onPointerLeave={() => hoverBlock(null)}
        >
          {seen.length === 0 && <Nothing list={list} where={where} />}
          <div style={{ transform: `translateY(${y === null ? 0 : first * ROW - y}px)` }}>
            {seen.map((row, i) => (
              <EventLine
                key={`${row.record} ${row.index}`}
                row={row}
                before={i === 0 ? undefined : rows[first + i - 1]}
                isLater={first + i >= (list?.now ?? 0)}
              />
            ))}
          </div>
          {seen.length > 0 && list !== null && (list.looking || list.fault !== null) && (
            <p class="looking dim" role="status">
              {list.fault === null ? (
                text.events.searching(list.fromStep, list.toStep)
              ) : (
                <Fault fault={list.fault} />
              )}
            </p>
          )}
          {where !== null && (
            <button
              type="button"
              class="comeback"
              title={newer > 0 ? text.events.newerTitle : text.events.backTitle}
              onClick={() => setWhere(null)}
            >
              {newer > 0 ? text.events.newer(newer) : text.events.back}
            </button>
          )}
        </div>
        <EventStrip at={shownOp} lastOp={lastOp} viewOp={op} onGo={goToOp} />
      </div>
    </>
  );
}

/** Is a place well within the rows that are here, or as far as there are any? */
function isInside(list: ListingAnswer | null, place: EventPlace): boolean {
  if (list === null) return false;
  const index = indexAt(list.rows, (row) => comparePlaces(row, place) >= 0);
  return (list.begins || index >= FEWEST) && (list.ends || list.rows.length - index >= FEWEST);
}
