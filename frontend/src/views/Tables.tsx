/** Block tables: a row a sequence, its blocks as chips in the order of their positions. */

import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { takesPrompts } from '../store/engine';
import { hello, tables, wantTables } from '../store/ledger';
import { picture } from '../store/picture';
import { hover, hoverBlock, hoverSequence, selectBlock, selection, selectSequence } from '../store/selection';
import { addSurface } from '../store/surfaces';
import { text } from '../text';
import type { TableRow } from '../worker/answers/tables';
import { chipWidth, elide, paintChips } from './chips';
import { usePlaces } from './places';
import { useVirtual } from './virtual';

/** Which rows are in sight, for the note above. */
export const tablesShown = signal('');

const LINE = 21;
const HEAD = 30;
const LINES = 4;
const SELECTED_LINES = 40;
const NO_BLOCKS = new Uint32Array(0);

function linesOf(row: TableRow, perLine: number, selected: boolean): number {
  const most = selected ? SELECTED_LINES : LINES;
  return Math.max(1, Math.min(most, Math.ceil(row.length / perLine)));
}

/** The two blocks that light up wherever they are shown. */
function hotBlocks(): Set<number> {
  const hot = new Set<number>();
  if (hover.value.block !== null) hot.add(hover.value.block);
  if (selection.value.block !== null) hot.add(selection.value.block);
  return hot;
}

interface RowProps {
  readonly row: TableRow;
  readonly perLine: number;
  readonly top: number;
  readonly height: number;
}

function Row({ row, perLine, top, height }: RowProps) {
  const chips = useRef<HTMLDivElement>(null);
  // The element may have been another sequence's.
  const last = useRef<Pick<TableRow, 'sequence' | 'blocks'>>(row);
  if (row.blocks !== null || last.current.sequence !== row.sequence) last.current = row;
  const { blocks } = last.current;
  const selected = selection.value.sequence === row.sequence || selection.value.request === row.request;
  const hot = hotBlocks();
  const holds = blocks !== null && [...hot].some((block) => blocks.includes(block));
  useLayoutEffect(() => {
    if (chips.current === null) return;
    const slots = elide(blocks ?? NO_BLOCKS, perLine, selected ? SELECTED_LINES : LINES);
    paintChips(chips.current, slots, picture.words, {
      hot,
      copies: new Set(row.copies),
      blockSize: hello.value?.block_size ?? 1,
    });
  });
  const isPrefill = row.tokens < row.prompt;
  const doing = isPrefill ? text.tables.prefill(row.tokens, row.prompt) : text.tables.decode;
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
        <span class="id">{row.label}</span>
        <span class="doing">
          {doing}
          {row.copies.includes(row.length - 1) && ` · ${text.tables.copied}`}
        </span>
        <span class="username" title={row.name}>
          {row.name}
        </span>
        <span class="tokens num">{text.tables.tokens(row.tokens)}</span>
      </div>
      <div class="chips" ref={chips} />
    </div>
  );
}

export function Tables() {
  const scroller = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(316);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(scroller.current!);
    return () => observer.disconnect();
  }, []);
  const rows = tables.value?.rows ?? [];
  const chip = chipWidth(hello.value?.num_blocks ?? 0);
  const perLine = Math.max(4, Math.floor((width - 24 + 3) / chip));
  const { sequence, request } = selection.value;
  const isSelected = (row: TableRow) => row.sequence === sequence || row.request === request;
  const lines = rows.map((row) => linesOf(row, perLine, isSelected(row)));
  const virtual = useVirtual(
    {
      count: rows.length,
      getScrollElement: () => scroller.current,
      estimateSize: (i) => HEAD + LINE * (lines[i] ?? 1),
      getItemKey: (i) => rows[i]?.sequence ?? i,
    },
    `${lines.join()} ${perLine}`,
  );
  const items = virtual.getVirtualItems();
  const places = usePlaces(items.flatMap((item) => rows[item.index]?.sequence ?? []));
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
  const sighted = items.filter(
    (item) => item.end > offset && item.start < offset + (virtual.scrollRect?.height ?? 0),
  );
  const first = (sighted[0]?.index ?? 0) + 1;
  const final = (sighted.at(-1)?.index ?? 0) + 1;
  useEffect(() => {
    tablesShown.value = first === final ? String(first) : `${first}–${final}`;
  });

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
    const blocks = rows[at]?.blocks;
    if (blocks == null || blocks.length === 0) return;
    const position = selection.value.block === null ? -1 : blocks.indexOf(selection.value.block);
    selectBlock(blocks[Math.max(0, Math.min(blocks.length - 1, position + sideways))] ?? null);
  };
  const targets = (event: Event) => {
    const target = event.target as HTMLElement;
    const block = target.closest<HTMLElement>('[data-block]')?.dataset.block;
    const row = target.closest<HTMLElement>('[data-sequence]')?.dataset.sequence;
    return { block: block === undefined ? null : Number(block), row: row === undefined ? null : Number(row) };
  };
  return (
    <div
      class="scroller tables"
      ref={scroller}
      tabIndex={0}
      role="listbox"
      aria-label={text.panels.tables}
      data-panel="tables"
      style={{ '--chip': `${chip - 3}px` }}
      onKeyDown={move}
      onClick={(event) => {
        const { block, row } = targets(event);
        if (block !== null) selectBlock(selection.value.block === block ? null : block);
        else if (row !== null) selectSequence(selection.value.sequence === row ? null : row);
      }}
      onPointerOver={(event) => {
        const { block, row } = targets(event);
        if (block !== null) hoverBlock(block);
        else hoverSequence(row);
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
          {items.map((item) => {
            const row = rows[item.index];
            return row === undefined ? null : (
              <Row
                key={places.get(row.sequence)}
                row={row}
                perLine={perLine}
                top={item.start}
                height={item.size}
              />
            );
          })}
        </div>
      )}
    </div>
  );
}
