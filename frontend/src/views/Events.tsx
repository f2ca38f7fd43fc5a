/** Operations and decisions as a plain list, around the present position. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Operation } from '../ledger/generated/constants';
import { jumpTo } from '../store/clock';
import { eventFilter, events, hello, position, wantEvents } from '../store/ledger';
import { hoverBlock, selection } from '../store/selection';
import { text } from '../text';
import { OPERATION_NAMES } from '../wording/events';
import type { EventRow } from '../worker/answers/events';
import { BlockLink, Kind, StepLink, Who } from './EventLine';
import { useVirtual } from './virtual';

const ROW = 20;

/** A number that is typed; an empty field is null. */
function NumberField(props: {
  readonly label: string;
  readonly prefix: string;
  readonly value: number | null;
  readonly onChange: (value: number | null) => void;
}) {
  return (
    <label class="filterfield">
      {props.label}
      <input
        class="num"
        data-filter
        inputMode="numeric"
        placeholder={text.events.anyBlock}
        value={props.value === null ? '' : `${props.prefix}${props.value}`}
        onInput={(event) => {
          const digits = event.currentTarget.value.replace(/\D/g, '');
          props.onChange(digits === '' ? null : Number(digits));
        }}
      />
    </label>
  );
}

export function EventFilterBar() {
  const filter = eventFilter.value;
  const toggle = (kind: number) => {
    const kinds = new Set(filter.kinds ?? []);
    if (kinds.has(kind)) kinds.delete(kind);
    else kinds.add(kind);
    eventFilter.value = { ...filter, kinds: kinds.size === 0 ? null : [...kinds].sort((a, b) => a - b) };
  };
  return (
    <div class="filters" role="toolbar" aria-label={text.events.filter}>
      <div class="kinds">
        {Object.values(Operation).map((kind) => (
          <button
            key={kind}
            type="button"
            aria-pressed={filter.kinds?.includes(kind) ?? false}
            class={`kind k-${OPERATION_NAMES[kind]}${filter.kinds?.includes(kind) ? ' on' : ''}`}
            onClick={() => toggle(kind)}
          >
            {OPERATION_NAMES[kind]}
          </button>
        ))}
      </div>
      <NumberField
        label={text.events.block}
        prefix=""
        value={filter.block}
        onChange={(block) => {
          eventFilter.value = { ...filter, block };
        }}
      />
      <NumberField
        label={text.events.request}
        prefix="r"
        value={filter.request}
        onChange={(request) => {
          eventFilter.value = { ...filter, request };
        }}
      />
    </div>
  );
}

/** Right behind an operation; of a decision, before the operation that it names. */
function goTo({ step, op, kind }: EventRow): void {
  jumpTo({ kind: 'operation', operation: typeof kind === 'number' ? op : op - 1, step });
}

export function Events() {
  const scroller = useRef<HTMLDivElement>(null);
  /** Does the list stay with the present position? */
  const [stays, setStays] = useState(true);
  const filter = eventFilter.value;
  useEffect(() => {
    wantEvents.value = filter;
  }, [filter]);
  useEffect(
    () => () => {
      wantEvents.value = null;
    },
    [],
  );
  const list = events.value;
  const rows = list?.rows ?? [];
  const now = list?.now ?? 0;
  const virtual = useVirtual(
    { count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, overscan: 4 },
    rows.length,
  );
  const step = position.value.step;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (stays && element !== null) element.scrollTop = Math.max(0, now * ROW - element.clientHeight * 0.72);
  }, [list, stays, now]);
  useEffect(() => setStays(true), [step]);
  const { block, sequence } = selection.value;
  return (
    <div
      class="scroller events"
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling list has to take the focus to be scrolled by keys
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={text.panels.events}
      data-panel="events"
      onWheel={() => setStays(false)}
      onPointerLeave={() => hoverBlock(null)}
    >
      {rows.length === 0 && (
        <p class="empty dim">
          {filter.kinds || filter.block || filter.request ? text.events.empty : text.events.emptyStep}
        </p>
      )}
      <div class="tall" style={{ height: `${virtual.getTotalSize()}px` }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const classes = [
            'event',
            item.index >= now ? 'later' : '',
            row.step === step ? 'present' : '',
            item.index === now ? 'first' : '',
            row.step !== rows[item.index - 1]?.step ? 'begins' : '',
            (block !== null && row.block === block) || (sequence !== null && row.sequence === sequence)
              ? 'hot'
              : '',
          ];
          return (
            <div
              // By the place beside the present: elsewhere the same elements bear other rows.
              key={item.index - now}
              class={classes.join(' ')}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <StepLink step={row.step} />
              <button
                type="button"
                class="plain goes"
                title={text.events.goTo(row)}
                onClick={() => goTo(row)}
              >
                <Kind row={row} />
              </button>
              <BlockLink row={row} />
              <span class="num who">
                <Who row={row} own="block" />
              </span>
              {/* The same again, wide enough to be hit; the keys need one only. */}
              <button type="button" class="plain goes what" tabIndex={-1} onClick={() => goTo(row)}>
                {text.event(row, hello.value?.block_size ?? 0)}
              </button>
            </div>
          );
        })}
      </div>
    </div>
  );
}
