/**
 * The prefix tree as the page looks at it: built of the state where the view stands, no more often than is good for what
 * else the worker does, and laid out anew when something is opened, sorted or looked for.
 *
 *     fold ──▶ trie ──▶ found ──▶ layout ──▶ the rows in sight
 *              a state   a text    what is open, the order
 */

import type { Fold } from '../../ledger/fold';
import type { Texts } from '../texts';
import { type Found, find, TokenBytes } from './find';
import { Layout, type Opened, type Sort } from './layout';
import { NO_NODE, Trie } from './trie';

/** ms that it may take to be built again at once. */
const CHEAP = 8;
/** One that takes longer is built at most for one part in so many of the time. */
const SHARE = 10;

/** What the page wants to see of the tree. */
export interface TreeWants extends Opened {
  /** Rows. */
  readonly from: number;
  readonly to: number;
  readonly sort: Sort;
  /** A text that a prompt begins with; empty: nothing is looked for. */
  readonly find: string;
}

export class Tree {
  readonly trie: Trie;
  /** Of which state the trie is, and ms that it took to build it and to lay it out; how many there were. */
  step = -1;
  record = -1;
  cost = 0;
  version = 0;
  found: Found | null = null;
  /** Nodes down which the text is met whole, those in which it ends or differs left out. */
  way: ReadonlySet<number> = new Set();
  layout: Layout;
  private state = '';
  private builtAt = Number.NEGATIVE_INFINITY;
  private laidOut = '';
  private lookedFor = '';
  private readonly bytes: TokenBytes;

  constructor(
    fold: Fold,
    private readonly texts: Texts,
  ) {
    this.trie = new Trie(fold.numBlocks);
    this.bytes = new TokenBytes(texts.pieces);
    this.layout = Layout.of(this.trie, NOTHING, 'tokens', null, this.way);
  }

  /** ms until it should be built of the state that a fold has now; null: it is of that state. */
  due(fold: Fold, now: number): number | null {
    if (!fold.loaded || stateOf(fold) === this.state) return null;
    return this.cost <= CHEAP ? 0 : Math.max(0, this.builtAt + SHARE * this.cost - now);
  }

  /** Bring it up to date with a fold, if it is time, and with what is wanted. */
  update(fold: Fold, wants: TreeWants, now: number): void {
    const begin = performance.now();
    const isBuilt = this.due(fold, now) === 0;
    if (isBuilt) this.build(fold);
    this.look(wants);
    this.layOut(wants);
    if (!isBuilt) return;
    this.builtAt = performance.now();
    this.cost = this.builtAt - begin;
  }

  private build(fold: Fold): void {
    this.trie.build(fold);
    this.state = stateOf(fold);
    this.step = fold.step;
    this.record = fold.record;
    this.version++;
  }

  /** Look for the text, as far as the contents have theirs here. */
  private look({ find: typed }: TreeWants): void {
    const { texts, trie } = this;
    const key = `${this.version} ${texts.pieces.size} ${typed}`;
    if (key === this.lookedFor && (this.found === null || this.found.awaited.length === 0)) return;
    this.lookedFor = key;
    const before = this.found;
    this.found = typed.trim() === '' ? null : find(trie, typed, (each) => texts.content(each), this.bytes);
    const way = new Set<number>();
    for (const node of this.found?.nodes ?? []) {
      for (let up = trie.parent[node]!; up !== NO_NODE && !way.has(up); up = trie.parent[up]!) way.add(up);
    }
    this.way = way;
    if (String(before?.nodes) !== String(this.found?.nodes)) this.laidOut = '';
  }

  private layOut(wants: TreeWants): void {
    const { open, deep, closed, unrolled, sort } = wants;
    const key = [this.version, sort, open, deep, closed, unrolled, this.found === null].join(' ');
    if (key === this.laidOut) return;
    this.laidOut = key;
    this.layout = Layout.of(this.trie, wants, sort, this.tops(), this.way);
  }

  /** The nodes at the top that meet the text; null: none is looked for. */
  private tops(): ReadonlySet<number> | null {
    const { found, trie } = this;
    if (found === null) return null;
    const tops = new Set<number>();
    for (const node of found.nodes) {
      let top = node;
      while (trie.parent[top] !== NO_NODE) top = trie.parent[top]!;
      tops.add(top);
    }
    return tops;
  }
}

const NOTHING: Opened = { open: [], deep: [], closed: [], unrolled: [] };

/** Two folds of one session that say the same here are in the same state; what contents follow may become known later. */
function stateOf({ record, op, contents }: Fold): string {
  return `${record} ${op} ${contents.size}`;
}
