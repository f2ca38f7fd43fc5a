/** Block tables: a row a sequence, its blocks as chips in the order of their positions; a row a request without blocks. */

import { effect, signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { NONE } from '../ledger/generated/constants';
import { takesPrompts } from '../store/engine';
import { hello, tables, wantTables } from '../store/ledger';
import { heldWords } from '../store/picture';
import { allRows, rowOrder, rowState, rowsDescend, rowWords } from '../store/rows';
import {
  hover,
  hoverBlock,
  hoverSequence,
  selectBlock,
  selection,
  selectRequest,
  selectSequence,
} from '../store/selection';
import { addSurface } from '../store/surfaces';
import { palette } from '../store/theme';
import { text } from '../text';
import type { TablesAnswer } from '../worker/answers/tables';
import { ChipSheet } from './ChipSheet';
import { blockOf, CHIP_LINE, chipsPerLine, chipWidth, elide, hotBlocks, titleOf } from './chips';
import { usePlaces } from './places';
import { indentOf, SequenceRow } from './SequenceRow';
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
/** Rows that are asked for before any is in sight. */
const FIRST_ROWS = 20;
const NO_BLOCKS = new Uint32Array(0);

function linesOf(length: number, perLine: number, selected: boolean): number {
  const most = selected ? SELECTED_LINES : LINES;
  return Math.min(most, Math.ceil(length / perLine));
}

/** The row of a sequence, or of a request without one, by a number of its own. */
function keyOf({ sequences, owners }: TablesAnswer, i: number): number {
  return sequences[i] === NONE ? -1 - owners[i]! : sequences[i]!;
}

function Nothing() {
  const isAll = rowState.value === 'running' && rowWords.value.trim() === '';
  if (!isAll)
    return (
      <div class="empty">
        <p>{text.tables.noRows}</p>
        <button type="button" class="btn" onClick={allRows}>
          {text.tables.allRows}
        </button>
      </div>
    );
  return (
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
  const answer = tables.value;
  const ownWord = useMemo(heldWords, [answer]);
  const count = answer?.sequences.length ?? 0;
  const chip = chipWidth(hello.value?.num_blocks ?? 0);
  const lineOf = (depth: number): number => chipsPerLine(width - 2 * LEFT - indentOf(depth), chip);
  const { sequence, request } = selection.value;
  const isSelected = (i: number): boolean =>
    answer !== null && (answer.sequences[i] === (sequence ?? -1) || answer.owners[i] === (request ?? -1));
  const lines = Array.from({ length: count }, (_, i) =>
    linesOf(answer!.lengths[i]!, lineOf(answer!.depths[i]!), isSelected(i)),
  );
  const virtual = useVirtual(
    {
      count,
      getScrollElement: () => scroller.current,
      estimateSize: (i) => HEAD + CHIP_LINE * (lines[i] ?? 1),
      getItemKey: (i) => (answer === null || i >= count ? i : keyOf(answer, i)),
      overscan: 2,
    },
    lines.join(),
  );
  const items = virtual.getVirtualItems();
  const places = usePlaces(items.flatMap((item) => (item.index < count ? keyOf(answer!, item.index) : [])));
  // A row that was not asked for yet keeps the blocks that it had.
  const known = useRef<ReadonlyMap<number, Uint32Array>>(new Map());
  const blocks = new Map<number, Uint32Array>();
  const shown = items.flatMap((item) => {
    const row = answer?.rows[item.index - answer.first];
    if (row === undefined) return [];
    const key = keyOf(answer!, item.index);
    const held = row.blocks ?? known.current.get(key) ?? NO_BLOCKS;
    blocks.set(key, held);
    const depth = row.branch?.depth ?? 0;
    const perLine = lineOf(depth);
    const slots = elide(held, perLine, isSelected(item.index) ? SELECTED_LINES : LINES);
    return [{ row, key, slots, perLine, left: LEFT + indentOf(depth), top: item.start, height: item.size }];
  });
  known.current = blocks;
  const from = items[0]?.index ?? 0;
  const to = Math.max((items.at(-1)?.index ?? 0) + 1, FIRST_ROWS);
  const [state, words, order, descending] = [
    rowState.value,
    rowWords.value,
    rowOrder.value,
    rowsDescend.value,
  ];
  useEffect(() => {
    wantTables.value = { from, to, state, words, order, descending };
  }, [from, to, state, words, order, descending]);
  const isFirst = useRef(true);
  useEffect(() => {
    // Another list is read from its top.
    if (!isFirst.current) scroller.current!.scrollTop = 0;
    isFirst.current = false;
  }, [state, words, order, descending]);
  useEffect(
    () => () => {
      wantTables.value = null;
    },
    [],
  );
  useEffect(() =>
    addSurface(scroller.current!, {
      reveal: () => {
        for (let i = 0; i < count; i++) {
          if (!isSelected(i)) continue;
          virtual.scrollToIndex(i);
          return;
        }
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
    const chips = shown.map(({ row, slots, left, top, perLine }) => {
      return { slots, left, top: top + TOP - reach.current, perLine, copies: row.copies };
    });
    const present = shown.flatMap(({ row }) => row.copied);
    const marks = { chip, wordOf: ownWord, hot, present, palette: palette.peek() };
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
    let at = 0;
    while (at < count && !isSelected(at)) at++;
    if (vertical !== 0) {
      const next = at === count ? 0 : Math.max(0, Math.min(count - 1, at + vertical));
      if (next >= count) return;
      choose(next);
      virtual.scrollToIndex(next);
      return;
    }
    const held = answer?.rows[at - answer.first]?.blocks;
    if (held == null || held.length === 0) return;
    const position = selection.value.block === null ? -1 : held.indexOf(selection.value.block);
    selectBlock(held[Math.max(0, Math.min(held.length - 1, position + sideways))] ?? null);
  };
  const choose = (i: number): void => {
    if (answer!.sequences[i] === NONE) selectRequest(answer!.owners[i]!);
    else selectSequence(answer!.sequences[i]!);
  };
  const targets = (event: MouseEvent) => {
    const target = (event.target as HTMLElement).closest<HTMLElement>('.sequence');
    const slot = target === null ? null : (sheet.current?.at(event) ?? null);
    const own = target?.dataset.sequence;
    const row = own === undefined ? null : Number(own);
    const owner = target === null ? null : Number(target.dataset.request);
    return { slot, block: blockOf(slot), row, owner, target };
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
        const { block, row, owner } = targets(event);
        if (block !== null) selectBlock(selection.value.block === block ? null : block);
        else if (row !== null) selectSequence(selection.value.sequence === row ? null : row);
        else if (owner !== null) selectRequest(selection.value.request === owner ? null : owner);
      }}
      onPointerMove={(event) => {
        const { slot, block, row, target } = targets(event);
        if (block !== null) hoverBlock(block);
        else hoverSequence(row);
        if (target !== null)
          target.title = slot === null ? '' : titleOf(slot, ownWord, hello.value?.block_size ?? 1);
      }}
      onPointerLeave={() => hoverBlock(null)}
    >
      {answer?.fault != null && (
        <p class="warn quiet" role="status">
          {text.tables.fault(answer.fault)}
        </p>
      )}
      {count === 0 ? (
        <Nothing />
      ) : (
        <div class="tall" style={{ height: `${virtual.getTotalSize()}px` }}>
          {shown.map(({ row, key, slots, top, height }) => (
            <SequenceRow
              key={places.get(key)}
              row={row}
              order={answer!.wish.order}
              slots={slots}
              top={top}
              height={height}
            />
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
