/** Block tables: a row a sequence, its blocks as chips in the order of their positions. */

import { effect, signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { takesPrompts } from '../store/engine';
import { hello, tables, wantTables } from '../store/ledger';
import { picture } from '../store/picture';
import { hover, hoverBlock, hoverSequence, selectBlock, selection, selectSequence } from '../store/selection';
import { addSurface } from '../store/surfaces';
import { palette } from '../store/theme';
import { text } from '../text';
import type { TableRow } from '../worker/answers/tables';
import { ChipSheet } from './ChipSheet';
import {
  blockOf,
  CHIP_LINE,
  chipsPerLine,
  chipWidth,
  elide,
  hotBlocks,
  type Slot,
  spoken,
  titleOf,
} from './chips';
import { usePlaces } from './places';
import { useVirtual } from './virtual';

/** Which rows are in sight, for the note above. */
export const tablesShown = signal('');

const HEAD = 30;
/** Where the chips of a row begin, from its corner. */
const LEFT = 12;
const TOP = 26;
const LINES = 4;
const SELECTED_LINES = 40;
/** CSS pixels that the canvas of the chips reaches beyond what is in sight, on either side. */
const MARGIN = 120;
const NO_ROWS: readonly TableRow[] = [];
const NO_BLOCKS = new Uint32Array(0);

function linesOf(row: TableRow, perLine: number, selected: boolean): number {
  const most = selected ? SELECTED_LINES : LINES;
  return Math.max(1, Math.min(most, Math.ceil(row.length / perLine)));
}

interface RowProps {
  readonly row: TableRow;
  readonly slots: readonly Slot[];
  readonly top: number;
  readonly height: number;
}

function Row({ row, slots, top, height }: RowProps) {
  const selected = selection.value.sequence === row.sequence || selection.value.request === row.request;
  const hot = hotBlocks(hover.value.block, selection.value.block);
  const holds = slots.some((slot) => !('more' in slot) && hot.has(slot.block));
  const isPrefill = row.tokens < row.prompt;
  const work = isPrefill ? text.tables.prefill(row.tokens, row.prompt) : text.tables.decode;
  const doing = row.copies.includes(row.length - 1) ? `${work} · ${text.tables.copied}` : work;
  const tokens = text.tables.tokens(row.tokens);
  return (
    <div
      class={`sequence${selected ? ' selected' : ''}${holds ? ' holds' : ''}`}
      style={{ transform: `translateY(${top}px)`, height: `${height}px` }}
      role="option"
      tabIndex={-1}
      aria-selected={selected}
      data-sequence={row.sequence}
    >
      <div class="title">
        <span class="id">{row.label}</span> <span class="doing">{doing}</span>{' '}
        <span class="username" title={row.name}>
          {row.name}
        </span>{' '}
        <span class="tokens num">{tokens}</span> <span class="unseen">{spoken(slots)}</span>
      </div>
    </div>
  );
}

export function Tables() {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const sheet = useRef<ChipSheet | null>(null);
  const [width, setWidth] = useState(316);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(scroller.current!);
    return () => observer.disconnect();
  }, []);
  const rows = tables.value?.rows ?? NO_ROWS;
  const chip = chipWidth(hello.value?.num_blocks ?? 0);
  const perLine = chipsPerLine(width - 2 * LEFT, chip);
  const { sequence, request } = selection.value;
  const isSelected = (row: TableRow) => row.sequence === sequence || row.request === request;
  const lines = rows.map((row) => linesOf(row, perLine, isSelected(row)));
  const virtual = useVirtual(
    {
      count: rows.length,
      getScrollElement: () => scroller.current,
      estimateSize: (i) => HEAD + CHIP_LINE * (lines[i] ?? 1),
      getItemKey: (i) => rows[i]?.sequence ?? i,
    },
    `${lines.join()} ${perLine}`,
  );
  const items = virtual.getVirtualItems();
  const places = usePlaces(items.flatMap((item) => rows[item.index]?.sequence ?? []));
  // A row that was not asked for yet keeps the blocks that it had.
  const known = useRef<ReadonlyMap<number, Uint32Array>>(new Map());
  const blocks = new Map<number, Uint32Array>();
  const shown = items.flatMap((item) => {
    const row = rows[item.index];
    if (row === undefined) return [];
    const held = row.blocks ?? known.current.get(row.sequence) ?? NO_BLOCKS;
    blocks.set(row.sequence, held);
    const slots = elide(held, perLine, isSelected(row) ? SELECTED_LINES : LINES);
    return [{ row, slots, top: item.start, height: item.size }];
  });
  known.current = blocks;
  const from = items[0]?.index ?? 0;
  const to = (items.at(-1)?.index ?? 19) + 1;
  useEffect(() => {
    const wanted = wantTables.peek();
    if (wanted?.from !== from || wanted.to !== Math.max(to, 20))
      wantTables.value = { from, to: Math.max(to, 20) };
  }, [from, to]);
  useEffect(
    () => () => {
      wantTables.value = null;
    },
    [],
  );
  useEffect(() =>
    addSurface(scroller.current!, {
      reveal: () => {
        const at = rows.findIndex(isSelected);
        if (at >= 0) virtual.scrollToIndex(at);
      },
    }),
  );
  const offset = virtual.scrollOffset ?? 0;
  const room = virtual.scrollRect?.height ?? 0;
  const sighted = items.filter((item) => item.end > offset && item.start < offset + room);
  const first = (sighted[0]?.index ?? 0) + 1;
  const final = (sighted.at(-1)?.index ?? 0) + 1;
  useEffect(() => {
    tablesShown.value = first === final ? String(first) : `${first}–${final}`;
  });

  // The canvas goes along with the rows, and is moved before its end comes into sight.
  const reach = useRef(0);
  if (offset < reach.current || offset > reach.current + 2 * MARGIN)
    reach.current = Math.max(0, Math.round(offset - MARGIN));
  const draw = useRef(() => {});
  draw.current = () => {
    if (canvas.current === null) return;
    if (sheet.current?.canvas !== canvas.current) {
      sheet.current?.close();
      sheet.current = new ChipSheet(canvas.current);
    }
    const hot = hotBlocks(hover.peek().block, selection.peek().block);
    const chips = shown.map(({ row, slots, top }) => {
      return { slots, left: LEFT, top: top + TOP - reach.current, perLine, copies: row.copies };
    });
    const marks = { chip, words: picture.words, hot, palette: palette.peek() };
    sheet.current.draw(chips, marks, width, room + 2 * MARGIN);
  };
  useLayoutEffect(() => draw.current());
  useEffect(
    () =>
      effect(() => {
        void [hover.value, palette.value];
        draw.current();
      }),
    [],
  );
  useEffect(() => () => sheet.current?.close(), []);

  const move = (event: KeyboardEvent) => {
    const vertical = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const sideways = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (vertical === 0 && sideways === 0) return;
    event.preventDefault();
    const at = rows.findIndex((row) => row.sequence === sequence);
    if (vertical !== 0) {
      const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + vertical))];
      if (next === undefined) return;
      selectSequence(next.sequence);
      virtual.scrollToIndex(rows.indexOf(next));
      return;
    }
    const held = rows[at]?.blocks;
    if (held == null || held.length === 0) return;
    const position = selection.value.block === null ? -1 : held.indexOf(selection.value.block);
    selectBlock(held[Math.max(0, Math.min(held.length - 1, position + sideways))] ?? null);
  };
  const targets = (event: MouseEvent) => {
    const target = (event.target as HTMLElement).closest<HTMLElement>('[data-sequence]');
    const slot = target === null ? null : (sheet.current?.at(event) ?? null);
    const row = target === null ? null : Number(target.dataset.sequence);
    return { slot, block: blockOf(slot), row, target };
  };
  return (
    <div
      class="scroller tables"
      ref={scroller}
      tabIndex={0}
      role="listbox"
      aria-label={text.panels.tables}
      data-panel="tables"
      onKeyDown={move}
      onClick={(event) => {
        const { block, row } = targets(event);
        if (block !== null) selectBlock(selection.value.block === block ? null : block);
        else if (row !== null) selectSequence(selection.value.sequence === row ? null : row);
      }}
      onPointerMove={(event) => {
        const { slot, block, row, target } = targets(event);
        if (block !== null) hoverBlock(block);
        else hoverSequence(row);
        if (target !== null)
          target.title = slot === null ? '' : titleOf(slot, picture.words, hello.value?.block_size ?? 1);
      }}
      onPointerLeave={() => hoverBlock(null)}
    >
      {rows.length === 0 ? (
        <div class="empty">
          <p>{text.tables.empty}</p>
          <p class="faint">{text.tables.emptyAdvice}</p>
          {takesPrompts.value && (
            <p class="faint">
              {text.tables.write[0]}
              <kbd>p</kbd>
              {text.tables.write[1]}
            </p>
          )}
        </div>
      ) : (
        <div class="tall" style={{ height: `${virtual.getTotalSize()}px` }}>
          {shown.map(({ row, slots, top, height }) => (
            <Row key={places.get(row.sequence)} row={row} slots={slots} top={top} height={height} />
          ))}
          <canvas
            key="chips"
            class="sheet"
            ref={canvas}
            style={{ transform: `translateY(${reach.current}px)` }}
          />
        </div>
      )}
    </div>
  );
}
