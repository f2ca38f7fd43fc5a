/** The prefix tree: what blocks hold, each content beneath the one that it follows. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { hello, isContiguous, position, tree, wantTree } from '../store/ledger';
import { hoverBlock, selectBlock, selection } from '../store/selection';
import { addSurface } from '../store/surfaces';
import { closeRow, openAll, opened, openRow, openWay, treeFind, treeSort, unroll } from '../store/tree';
import { text } from '../text';
import type { TreeRow } from '../worker/answers/tree';
import { TreeBar } from './TreeBar';
import { Heads, Row } from './TreeRow';
import { useVirtual } from './virtual';

const words = text.tree;
const ROW = 22;
/** Rows beyond those in sight that are asked for. */
const BEYOND = 20;
const PAGE = 12;

/** Why there is nothing to see; null: there is. */
function nothing(): readonly string[] | null {
  if (isContiguous.value) return [words.contiguous, words.contiguousAdvice];
  if (hello.value?.config?.enable_prefix_caching === false) return [words.off, words.offAdvice];
  if (tree.value === null) return [words.building];
  if (tree.value.contents === 0) return [words.empty, words.emptyAdvice];
  return null;
}

/** Where the keys are: a row by its place, and whose it was. */
interface Cursor {
  readonly index: number;
  readonly first: number;
  readonly isBlock: boolean;
}

function isAt(cursor: Cursor | null, row: TreeRow): boolean {
  return cursor !== null && cursor.first === row.first && cursor.isBlock === row.isBlock;
}

export function Tree() {
  const scroller = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  /** The selected block that was brought into sight, or was selected here. */
  const revealed = useRef<number | null>(null);
  const [, reveal] = useState(0);
  /** For which answer what is above it was opened. */
  const openedFor = useRef<unknown>(null);
  const answer = tree.value;
  const rows = answer?.rows ?? [];
  const rowAt = (index: number): TreeRow | undefined => rows[index - (answer?.from ?? 0)];
  const virtual = useVirtual(
    {
      count: answer?.total ?? 0,
      getScrollElement: () => scroller.current,
      estimateSize: () => ROW,
      overscan: 2,
    },
    answer?.total,
  );
  const items = virtual.getVirtualItems();
  const from = Math.max(0, (items[0]?.index ?? 0) - BEYOND);
  const to = (items.at(-1)?.index ?? 40) + BEYOND;
  const sort = treeSort.value;
  const find = treeFind.value;
  const shown = opened.value;
  useEffect(() => {
    wantTree.value = { ...shown, from, to, sort, find };
  }, [from, to, sort, find, shown]);
  useEffect(
    () => () => {
      wantTree.value = null;
      tree.value = null;
    },
    [],
  );

  useEffect(
    () =>
      addSurface(scroller.current!, {
        reveal: () => {
          revealed.current = null;
          openedFor.current = null;
          reveal((times) => times + 1);
        },
      }),
    [],
  );
  // What is selected elsewhere is brought into sight, once.
  const { block } = selection.value;
  const selected = answer?.selected ?? null;
  useLayoutEffect(() => {
    if (block === null) revealed.current = null;
    if (selected === null || selected.block !== block || revealed.current === block) return;
    if (selected.row === null) {
      // The next answer has the row.
      if (openedFor.current !== selected) openWay(selected.way);
      openedFor.current = selected;
    } else {
      virtual.scrollToIndex(selected.row, { align: 'auto' });
      revealed.current = block;
    }
  });
  // The cursor stays with its row where rows come and go above it.
  useLayoutEffect(() => {
    const row = cursor === null ? undefined : rowAt(cursor.index);
    if (cursor === null || (row !== undefined && isAt(cursor, row))) return;
    const found = rows.findIndex((each) => isAt(cursor, each));
    if (found >= 0) setCursor({ ...cursor, index: found + answer!.from });
    else if (row !== undefined) setCursor({ index: cursor.index, first: row.first, isBlock: row.isBlock });
  });
  const foundRow = answer?.found?.row ?? null;
  useEffect(() => {
    if (foundRow !== null && find !== '') virtual.scrollToIndex(foundRow, { align: 'auto' });
  }, [foundRow, find, virtual]);

  const moveTo = (index: number): void => {
    const place = Math.max(0, Math.min((answer?.total ?? 1) - 1, index));
    const row = rowAt(place);
    setCursor({ index: place, first: row?.first ?? -1, isBlock: row?.isBlock ?? false });
    virtual.scrollToIndex(place, { align: 'auto' });
  };
  const select = (row: TreeRow): void => {
    const own = row.blocks[0] ?? null;
    const next = block !== null && row.blocks.includes(block) ? null : own;
    revealed.current = next;
    selectBlock(next);
  };
  const sideways = (row: TreeRow, index: number, right: boolean): void => {
    if (right) {
      if (row.isOpen || row.isUnrolled) moveTo(index + 1);
      else if (row.branches > 0) openRow(row);
      else if (row.length > 1) unroll(row);
    } else if (row.isOpen) closeRow(row);
    else if (row.isUnrolled) unroll(row);
    else if (row.up >= 0) moveTo(row.up);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const index = cursor?.index ?? -1;
    const row = rowAt(index);
    const { key } = event;
    if (key === 'ArrowDown') moveTo(index + 1);
    else if (key === 'ArrowUp') moveTo(index - 1);
    else if (key === 'PageDown') moveTo(index + PAGE);
    else if (key === 'PageUp') moveTo(index - PAGE);
    else if (key === 'Home') moveTo(0);
    else if (key === 'End') moveTo(Number.POSITIVE_INFINITY);
    else if (row === undefined) return;
    else if (key === 'ArrowRight' || key === 'ArrowLeft') sideways(row, index, key === 'ArrowRight');
    else if (key === 'Enter') select(row);
    else if (key === '*') openAll(row);
    else return;
    event.preventDefault();
  };
  const target = (event: Event): { row: TreeRow; index: number; part: string } | null => {
    const element = event.target as HTMLElement;
    const index = Number(element.closest<HTMLElement>('[data-row]')?.dataset.row ?? -1);
    const row = rowAt(index);
    if (row === undefined) return null;
    return { row, index, part: element.closest<HTMLElement>('[data-part]')?.dataset.part ?? '' };
  };
  const empty = nothing();
  const active = cursor === null ? undefined : rowAt(cursor.index);
  return (
    <>
      <TreeBar />
      {empty === null && <Heads />}
      <div
        class="scroller tree"
        ref={scroller}
        tabIndex={0}
        role="tree"
        aria-label={words.label}
        aria-activedescendant={active === undefined ? undefined : `tree-${cursor!.index}`}
        data-panel="tree"
        onKeyDown={onKey}
        onFocus={() => cursor === null && moveTo(selected?.row ?? 0)}
        onClick={(event) => {
          const hit = target(event);
          if (hit === null) return;
          const { row, index, part } = hit;
          setCursor({ index, first: row.first, isBlock: row.isBlock });
          if (part === 'open') (row.isOpen ? closeRow : openRow)(row);
          else if (part === 'unroll') unroll(row);
          else if (part === '') select(row);
        }}
        onDblClick={(event) => {
          const hit = target(event);
          if (hit?.part === '' && hit.row.branches > 0) (hit.row.isOpen ? closeRow : openRow)(hit.row);
        }}
        onPointerOver={(event) => hoverBlock(target(event)?.row.blocks[0] ?? null)}
        onPointerLeave={() => hoverBlock(null)}
      >
        {empty !== null && (
          <div class="empty">
            {empty.map((line, i) => (
              <p key={line} class={i === 0 ? '' : 'faint'}>
                {line}
              </p>
            ))}
          </div>
        )}
        {empty === null && (
          <div class="tall" role="none" style={{ height: `${virtual.getTotalSize()}px` }}>
            {items.map((item) => {
              const row = rowAt(item.index);
              return row === undefined ? null : (
                <Row
                  key={row.isBlock ? -1 - row.first : row.first}
                  row={row}
                  index={item.index}
                  top={item.start}
                  most={answer!.most}
                  step={position.value.step}
                  isAt={isAt(cursor, row)}
                />
              );
            })}
          </div>
        )}
      </div>
    </>
  );
}
