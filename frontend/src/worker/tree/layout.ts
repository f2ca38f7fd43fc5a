/**
 * The rows of the tree, as far as it is opened.
 *
 *     level 0   ▾ "You are a help…"      a run of 3 blocks: as long as just one content follows, it is one row
 *     level 1     "You are a help"       its blocks one by one, where the run was unrolled
 *     level 1     "ful assistant."
 *     level 1     " Answer brie"
 *     level 1   ▸ "What is the…"         what follows the run
 *
 * What is opened is told by contents, as nodes have other numbers in each trie; and by the first *and* the last content of
 * a run, so that a run stays open when it is cut in two by a new branch, and when it grows together with what follows.
 */

import { NO_NODE, type Trie } from './trie';

export const SORTS = ['tokens', 'blocks', 'hits', 'recency'] as const;
export type Sort = (typeof SORTS)[number];

/** What the reader opened, by contents. */
export interface Opened {
  readonly open: readonly number[];
  /** With all that is below. */
  readonly deep: readonly number[];
  /** Closed, though it would be open by one above it. */
  readonly closed: readonly number[];
  /** Runs that are shown block by block, by their first contents. */
  readonly unrolled: readonly number[];
}

/** Of a row: a run, or one block of an unrolled one. */
export const RUN = 0;
export const BLOCK = 1;

/** The rows as columns, from the top to the bottom. */
export class Layout {
  node = new Uint32Array(256);
  kind = new Uint8Array(256);
  level = new Uint16Array(256);
  isOpen = new Uint8Array(256);
  /** Its place among the rows of its level beneath one row, from 1, and how many these are. */
  placeInSet = new Uint32Array(256);
  setSize = new Uint32Array(256);
  /** The row that it is beneath, and one more; 0: none. */
  up = new Uint32Array(256);
  length = 0;
  /** The greatest sum of blocks under a row at the top. */
  most = 0;

  private constructor(private readonly trie: Trie) {}

  /** The rows of a trie. `only`: of those at the top these alone, which are open down `path`. */
  static of(
    trie: Trie,
    opened: Opened,
    sort: Sort,
    only: ReadonlySet<number> | null,
    path: ReadonlySet<number>,
  ): Layout {
    const made = new Layout(trie);
    made.fill(opened, sort, only, path);
    return made;
  }

  private fill(
    opened: Opened,
    sort: Sort,
    only: ReadonlySet<number> | null,
    path: ReadonlySet<number>,
  ): void {
    const { trie } = this;
    const open = new Set(opened.open);
    const deep = new Set(opened.deep);
    const closed = new Set(opened.closed);
    const unrolled = new Set(opened.unrolled);
    const inOrder = order(trie, sort);
    let roots = Array.from(trie.roots);
    if (only !== null) roots = roots.filter((node) => only.has(node));
    for (const root of roots) this.most = Math.max(this.most, trie.blocksBelow[root]!);
    // What can be hit first; then what can't; then that of which it is not known.
    const rank = (node: number): number => (trie.reachable[node] === 1 ? 0 : trie.place[node]!);
    roots.sort((a, b) => rank(a) - rank(b) || inOrder(a, b));
    // A lone row at the top says nothing as long as it is closed.
    const isLone = roots.length === 1;
    const left: { nodes: readonly number[]; at: number; level: number; isDeep: boolean; up: number }[] = [
      { nodes: roots, at: 0, level: 0, isDeep: false, up: 0 },
    ];
    for (let rows = left.at(-1); rows !== undefined; rows = left.at(-1)) {
      if (rows.at === rows.nodes.length) {
        left.pop();
        continue;
      }
      const head = rows.nodes[rows.at++]!;
      const { level, up } = rows;
      const end = trie.endOf(head);
      const [first, last] = [trie.content[head]!, trie.content[end]!];
      const isDeep = deep.has(first) || deep.has(last) || (rows.isDeep && !closed.has(first));
      const isChosen = open.has(first) || open.has(last) || path.has(end);
      const isOpen =
        trie.children[end]! > 0 && !closed.has(first) && (isDeep || isChosen || (isLone && level === 0));
      this.add(head, RUN, level, isOpen, rows.at, rows.nodes.length, up);
      const own = this.length;
      if (unrolled.has(first) && head !== end) this.unroll(head, end, level + 1);
      if (!isOpen) continue;
      const below: number[] = [];
      for (let child = trie.firstChild[end]!; child !== NO_NODE; child = trie.nextSibling[child]!)
        below.push(child);
      left.push({ nodes: below.sort(inOrder), at: 0, level: level + 1, isDeep, up: own });
    }
  }

  private unroll(head: number, end: number, level: number): void {
    const { firstChild } = this.trie;
    const nodes = [head];
    const up = this.length;
    for (let node = head; node !== end; ) {
      node = firstChild[node]!;
      nodes.push(node);
    }
    nodes.forEach((node, i) => {
      this.add(node, BLOCK, level, false, i + 1, nodes.length, up);
    });
  }

  private add(
    node: number,
    kind: number,
    level: number,
    isOpen: boolean,
    place: number,
    size: number,
    up: number,
  ): void {
    const at = this.length++;
    if (at === this.node.length) this.grow();
    this.node[at] = node;
    this.kind[at] = kind;
    this.level[at] = level;
    this.isOpen[at] = isOpen ? 1 : 0;
    this.placeInSet[at] = place;
    this.setSize[at] = size;
    this.up[at] = up;
  }

  private grow(): void {
    const grown = <T extends Uint32Array | Uint16Array | Uint8Array>(column: T): T => {
      const wider = new (column.constructor as new (length: number) => T)(2 * column.length);
      wider.set(column);
      return wider;
    };
    this.node = grown(this.node);
    this.kind = grown(this.kind);
    this.level = grown(this.level);
    this.isOpen = grown(this.isOpen);
    this.placeInSet = grown(this.placeInSet);
    this.setSize = grown(this.setSize);
    this.up = grown(this.up);
  }

  /** The row of a node: its own in an unrolled run, else that of its run; null: it is under one that is closed. */
  rowOf(node: number): number | null {
    const head = this.trie.headOf(node);
    const rows = this.node.subarray(0, this.length);
    let found: number | null = null;
    for (let at = rows.indexOf(node); at >= 0; at = rows.indexOf(node, at + 1)) {
      if (this.kind[at] === BLOCK) return at;
      found = at;
    }
    const run = head === node ? (found ?? -1) : rows.indexOf(head);
    return run < 0 ? null : run;
  }
}

/** Most first; of equals the older content. */
function order(trie: Trie, sort: Sort): (a: number, b: number) => number {
  const values = {
    tokens: trie.nodesBelow,
    blocks: trie.blocksBelow,
    hits: trie.hits,
    recency: trie.recency,
  }[sort];
  return (a, b) => (values[a] === values[b] ? a - b : values[b]! - values[a]!);
}

/** The contents that must be open for a node's row to be seen: the first ones of the runs above its own. */
export function wayTo(trie: Trie, node: number): number[] {
  const way: number[] = [];
  for (let head = trie.headOf(node); trie.parent[head] !== NO_NODE; ) {
    head = trie.headOf(trie.parent[head]!);
    way.push(trie.content[head]!);
  }
  return way.reverse();
}
