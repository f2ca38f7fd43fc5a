/**
 * A rectangle of the map that the reader marked, and what is in it, counted over the state where the view stands.
 *
 *     columns of the grid ─▶
 *     · · · · · · ·      two corners, as cells of the grid that the map had then: 9 and 18 in 7 columns are six blocks.
 *     · · ▓ ▓ ▓ · ·      A map of another width shows the same blocks, in other places.
 *     · · ▓ ▓ ▓ · ·
 */

import type { Fold } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import { BINS } from './shades';

export interface Rectangle {
  /** Cells at two opposite corners, both included. */
  readonly from: number;
  readonly to: number;
  readonly columns: number;
}

/** Requests that are listed; the others are counted. */
const MOST_LISTED = 200;
/** ms that it may take to be counted at once; what takes longer is counted for at most one part in so many of the time. */
const CHEAP = 8;
const SHARE = 10;

export interface RectangleAnswer {
  readonly rectangle: Rectangle;
  /** Of which state it is. */
  readonly step: number;
  readonly blocks: number;
  /** Blocks by class: free, cached, active, shared. */
  readonly states: readonly number[];
  /** Blocks by the parts of the scale of ref counts. */
  readonly refs: readonly number[];
  readonly filled: number;
  readonly slots: number;
  /** Blocks that hold content, and the prefix hits of all of them. */
  readonly contents: number;
  readonly hits: number;
  /** Those that hold most of its blocks first; a block that several hold counts for each of them, and once for each. */
  readonly requests: readonly { readonly request: number; readonly name: string; readonly blocks: number }[];
  /** Requests that hold some and are not listed. */
  readonly others: number;
}

export function isSame(a: Rectangle, b: Rectangle): boolean {
  return a.from === b.from && a.to === b.to && a.columns === b.columns;
}

/** Its rows that have blocks of a pool, as cells of its grid: the first, and the one behind the last. */
export function rowsOf(
  { from, to, columns }: Rectangle,
  numBlocks: number,
): { readonly from: number; readonly to: number }[] {
  const row = (cell: number): number => Math.floor(cell / columns);
  const left = Math.min(from % columns, to % columns);
  const right = Math.max(from % columns, to % columns);
  const bottom = Math.min(row(Math.max(from, to)), row(numBlocks - 1));
  const rows: { from: number; to: number }[] = [];
  for (let at = row(Math.min(from, to)) * columns; at <= bottom * columns; at += columns) {
    const end = Math.min(at + right + 1, numBlocks);
    if (at + left < end) rows.push({ from: at + left, to: end });
  }
  return rows;
}

/** The blocks in its cells. `blockAt`: which lies in each; null: the one whose number it is. */
export function blocksIn(rectangle: Rectangle, numBlocks: number, blockAt: Uint32Array | null): Uint32Array {
  const rows = rowsOf(rectangle, numBlocks);
  const blocks = new Uint32Array(rows.reduce((sum, { from, to }) => sum + to - from, 0));
  let at = 0;
  for (const { from, to } of rows) for (let cell = from; cell < to; cell++) blocks[at++] = cell;
  if (blockAt !== null) for (let i = 0; i < at; i++) blocks[i] = blockAt[blocks[i]!]!;
  return blocks;
}

export function countIn(fold: Fold, rectangle: Rectangle, blocks: Uint32Array): RectangleAnswer {
  const { count, kind, filled, content, hits } = fold.blocks;
  const states = [0, 0, 0, 0];
  const bins = BINS.refs;
  const refs = Array.from({ length: bins.at(-1)! + 1 }, () => 0);
  const sums = { filled: 0, contents: 0, hits: 0 };
  for (let i = 0; i < blocks.length; i++) {
    const b = blocks[i]!;
    states[kind[b]!]!++;
    refs[bins[Math.min(bins.length - 1, count[b]!)]!]!++;
    sums.filled += filled[b]!;
    sums.hits += hits[b]!;
    if (content[b] !== NONE) sums.contents++;
  }
  const all = requestsIn(fold, blocks);
  return {
    rectangle,
    step: fold.step,
    blocks: blocks.length,
    states,
    refs,
    slots: blocks.length * fold.blockSize,
    ...sums,
    requests: all.slice(0, MOST_LISTED),
    others: Math.max(0, all.length - MOST_LISTED),
  };
}

function requestsIn({ tables, requests, numBlocks }: Fold, blocks: Uint32Array): RectangleAnswer['requests'] {
  const { memory, facts } = requests;
  const lists = new Map<number, { readonly blocks: Uint32Array; readonly end: number }[]>();
  for (const table of tables.map.values()) {
    const request = memory.requestOf(table.sequence);
    if (request < 0) continue;
    const known = lists.get(request);
    if (known === undefined) lists.set(request, [table]);
    else known.push(table);
  }
  /** 1: in the rectangle; then 1 and the place of the request that was seen to hold it last. */
  const seen = new Uint32Array(numBlocks);
  for (let i = 0; i < blocks.length; i++) seen[blocks[i]!] = 1;
  const found: { request: number; name: string; blocks: number }[] = [];
  let mark = 1;
  for (const [request, own] of lists) {
    mark++;
    let held = 0;
    for (const { blocks: table, end } of own) {
      for (let position = 0; position < end; position++) {
        const block = table[position]!;
        if (block >= numBlocks || seen[block] === 0 || seen[block] === mark) continue;
        seen[block] = mark;
        held++;
      }
    }
    if (held > 0) found.push({ request, name: facts.get(request)?.name ?? '', blocks: held });
  }
  return found.sort((a, b) => b.blocks - a.blocks || a.request - b.request);
}

/** Where blocks lie on the map. */
export interface Lying {
  /** Which block is in each cell; null: the one whose number it is. */
  readonly blockAt: Uint32Array | null;
  /** It changes when they lie elsewhere; 0: by their number. */
  readonly orderVersion: number;
}

/** Counts what is in a rectangle, no more often than is good for what else the worker does. */
export class RectangleCount {
  private counted = '';
  private countedAt = Number.NEGATIVE_INFINITY;
  private cost = 0;

  /** ms until it should be counted; null: it is, as it is now. */
  due(fold: Fold, rectangle: Rectangle | null, orderVersion: number, now: number): number | null {
    if (rectangle === null || !fold.loaded || keyOf(fold, rectangle, orderVersion) === this.counted)
      return null;
    return this.cost <= CHEAP ? 0 : Math.max(0, this.countedAt + SHARE * this.cost - now);
  }

  /** null: none is wanted, it is told already, or it is not time. */
  answer(fold: Fold, rectangle: Rectangle | null, order: Lying, now: number): RectangleAnswer | null {
    const { blockAt, orderVersion } = order;
    if (rectangle === null || this.due(fold, rectangle, orderVersion, now) !== 0) return null;
    const begin = performance.now();
    const answer = countIn(fold, rectangle, blocksIn(rectangle, fold.numBlocks, blockAt));
    this.counted = keyOf(fold, rectangle, orderVersion);
    this.countedAt = performance.now();
    this.cost = this.countedAt - begin;
    return answer;
  }
}

function keyOf({ record, op }: Fold, { from, to, columns }: Rectangle, orderVersion: number): string {
  return [record, op, from, to, columns, orderVersion].join();
}
