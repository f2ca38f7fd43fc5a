/** What the reader opened in the prefix tree, in which order it stands, and which text is looked for. */

import { effect, signal } from '@preact/signals';
import type { TreeRow } from '../worker/answers/tree';
import type { Opened, Sort } from '../worker/tree/layout';
import { hello } from './ledger';

const CLOSED: Opened = { open: [], deep: [], closed: [], unrolled: [] };

export const opened = signal<Opened>(CLOSED);
export const treeSort = signal<Sort>('blocks');
export const treeFind = signal('');

// Contents are a session's own.
effect(() => {
  void hello.value?.session;
  opened.value = CLOSED;
  treeFind.value = '';
});

function without(list: readonly number[], row: TreeRow): number[] {
  return list.filter((each) => each !== row.first && each !== row.last);
}

export function openRow(row: TreeRow): void {
  const { open, closed } = opened.value;
  opened.value = {
    ...opened.value,
    open: [...without(open, row), row.first, row.last],
    closed: without(closed, row),
  };
}

export function closeRow(row: TreeRow): void {
  const { open, deep, closed } = opened.value;
  opened.value = {
    ...opened.value,
    open: without(open, row),
    deep: without(deep, row),
    closed: [...without(closed, row), row.first],
  };
}

/** Open a row and all that is below it. */
export function openAll(row: TreeRow): void {
  const { deep, closed } = opened.value;
  opened.value = { ...opened.value, deep: [...without(deep, row), row.first], closed: without(closed, row) };
}

/** Show a run block by block, or as one row again. */
export function unroll(row: TreeRow): void {
  const { unrolled } = opened.value;
  const rest = unrolled.filter((each) => each !== row.first);
  opened.value = {
    ...opened.value,
    unrolled: rest.length < unrolled.length ? rest : [...rest, row.first],
  };
}

/** Open what is above a row, by its contents. */
export function openWay(way: readonly number[]): void {
  const { open, closed } = opened.value;
  const added = new Set(way);
  opened.value = {
    ...opened.value,
    open: [...open.filter((each) => !added.has(each)), ...way],
    closed: closed.filter((each) => !added.has(each)),
  };
}
