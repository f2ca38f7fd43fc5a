/**
 * The contents that blocks hold, as a trie: a node a content, beneath the content that it follows.
 *
 *     content 0  "You are a help"  blocks 3              content 5 was evicted: what follows it stands at the top,
 *       content 1  "ful assistant"  blocks 9, 12         and no prompt can hit it, as a lookup stops at the first
 *         content 2  "What is the"  block 4              content that no block holds.
 *         content 7  "Tell me a s"  block 8
 *     content 6  (follows 5)  block 2
 *
 * Nodes are numbered in the order of their contents, and a content is younger than the one that it follows; so one pass
 * upwards through the numbers meets parents first, and one downwards children first. Everything is in typed arrays that
 * are used again: with a million blocks a trie is built in some tens of milliseconds.
 */

import type { Contents } from '../../ledger/contents';
import type { Fold } from '../../ledger/fold';
import { NONE } from '../../ledger/generated/constants';
import { Depths } from './depths';

/** In place of a node: there is none. */
export const NO_NODE = 0xffffffff;

/** What a node follows: another node or the beginning of a prompt, a content that no block holds, one that is not known. */
export const Place = { here: 0, gone: 1, unknown: 2 } as const;

/** Of each node; the sums with `below` count what hangs under it, and the node itself. */
const WORDS = [
  'content',
  'parent',
  'firstChild',
  'nextSibling',
  'children',
  'firstBlock',
  'copies',
  'active',
  'shared',
  'hits',
  'depth',
  'nodesBelow',
  'blocksBelow',
] as const;

type Words = Record<(typeof WORDS)[number], Uint32Array>;

export class Trie {
  size = 0;
  /** Blocks that hold a content, and how many of the nodes no prompt can hit. */
  blocks = 0;
  unreachable = 0;
  /** Of how many nodes it is not known what they follow. */
  unknown = 0;
  /** The nodes at the top, in the order of their contents. */
  roots: Uint32Array = new Uint32Array(0);
  /** The blocks of a node: `firstBlock`, then from each block to the next one, in ascending order. */
  readonly nextBlock: Uint32Array;
  /** Of each node, by a number of {@link Place}; and can a prompt hit it? */
  place = new Uint8Array(0);
  reachable = new Uint8Array(0);
  /** The tickets of its free blocks: the one that goes first, the one that was freed last; NaN where none is free. */
  firstTicket = new Float64Array(0);
  lastTicket = new Float64Array(0);
  /** When one of those below was used last: a ticket; infinite where one is in use. */
  recency = new Float64Array(0);
  private words = makeWords(0);
  /** Of each content its node's number, and one more. */
  private index = new Uint32Array(0);
  private readonly depths = new Depths();

  constructor(numBlocks: number) {
    this.nextBlock = new Uint32Array(numBlocks);
  }

  get content(): Uint32Array {
    return this.words.content;
  }
  get parent(): Uint32Array {
    return this.words.parent;
  }
  get firstChild(): Uint32Array {
    return this.words.firstChild;
  }
  get nextSibling(): Uint32Array {
    return this.words.nextSibling;
  }
  get children(): Uint32Array {
    return this.words.children;
  }
  get firstBlock(): Uint32Array {
    return this.words.firstBlock;
  }
  /** Blocks that hold it; those of them that one holder has, and several have. */
  get copies(): Uint32Array {
    return this.words.copies;
  }
  get active(): Uint32Array {
    return this.words.active;
  }
  get shared(): Uint32Array {
    return this.words.shared;
  }
  /** How often it was hit since its blocks were labelled with it. */
  get hits(): Uint32Array {
    return this.words.hits;
  }
  /** Blocks from the beginning of the prompt to it, and itself; 0: not known. */
  get depth(): Uint32Array {
    return this.words.depth;
  }
  get nodesBelow(): Uint32Array {
    return this.words.nodesBelow;
  }
  get blocksBelow(): Uint32Array {
    return this.words.blocksBelow;
  }

  /** Contents, held or above one that is, of which it is not known what they follow; of many some. */
  get missing(): ReadonlySet<number> {
    return this.depths.missing;
  }

  /** The node of a content; `NO_NODE`: no block holds it. */
  nodeOf(content: number): number {
    const found = content < this.index.length ? this.index[content]! : 0;
    return found === 0 ? NO_NODE : found - 1;
  }

  /** The last node of the run that begins with a node: as long as just one follows. */
  endOf(node: number): number {
    const { children, firstChild } = this.words;
    let end = node;
    while (children[end] === 1) end = firstChild[end]!;
    return end;
  }

  /** The first node of the run that a node is in. */
  headOf(node: number): number {
    const { parent, children } = this.words;
    let head = node;
    while (parent[head] !== NO_NODE && children[parent[head]!] === 1) head = parent[head]!;
    return head;
  }

  /** Make it the trie of a fold, as it stands. */
  build(fold: Fold): void {
    this.number(fold);
    this.fill(fold);
    this.join(fold.contents);
    this.sum();
  }

  /** Number the contents that blocks hold. */
  private number({ blocks: { content, size }, contents }: Fold): void {
    let { index } = this;
    if (index.length < contents.next) {
      index = this.index = new Uint32Array(Math.max(contents.next, 2 * index.length));
    } else index.fill(0);
    const { length } = index;
    let held = 0;
    for (let b = 0; b < size; b++) {
      const c = content[b]!;
      // A content that was never interned is the fold's to report.
      if (c < length) index[c] = 1;
    }
    for (let c = 0; c < length; c++) if (index[c] !== 0) index[c] = ++held;
    this.size = held;
    this.makeRoom(held);
    for (let c = 0; c < length; c++) if (index[c] !== 0) this.words.content[index[c]! - 1] = c;
  }

  private makeRoom(nodes: number): void {
    if (this.place.length >= nodes) return;
    const room = Math.ceil(1.25 * nodes);
    this.words = makeWords(room);
    this.place = new Uint8Array(room);
    this.reachable = new Uint8Array(room);
    this.firstTicket = new Float64Array(room);
    this.lastTicket = new Float64Array(room);
    this.recency = new Float64Array(room);
  }

  /** What the blocks say of each node. */
  private fill({ blocks }: Fold): void {
    const { index, nextBlock, firstTicket, lastTicket, size } = this;
    const { firstBlock, copies, active, shared, hits } = this.words;
    for (const column of [copies, active, shared, hits]) column.fill(0, 0, size);
    firstBlock.fill(NO_NODE, 0, size);
    firstTicket.fill(Number.NaN, 0, size);
    lastTicket.fill(Number.NaN, 0, size);
    this.blocks = 0;
    for (let b = blocks.size - 1; b >= 0; b--) {
      const c = blocks.content[b]!;
      if (c >= index.length) continue;
      const node = index[c]! - 1;
      this.blocks++;
      copies[node]!++;
      hits[node]! += blocks.hits[b]!;
      nextBlock[b] = firstBlock[node]!;
      firstBlock[node] = b;
      const count = blocks.count[b]!;
      if (count > 1) shared[node]!++;
      else if (count === 1) active[node]!++;
      else {
        const ticket = blocks.ticket[b]!;
        // Neither is true for the NaN of a node that has no free block so far.
        if (!(firstTicket[node]! <= ticket)) firstTicket[node] = ticket;
        if (!(lastTicket[node]! >= ticket)) lastTicket[node] = ticket;
      }
    }
  }

  /** Put each node beneath what it follows. */
  private join(contents: Contents): void {
    const { index, place, reachable, size } = this;
    const { content, parent, children, depth } = this.words;
    children.fill(0, 0, size);
    this.unreachable = 0;
    this.unknown = 0;
    this.depths.missing.clear();
    for (let node = 0; node < size; node++) {
      const c = content[node]!;
      const before = contents.parent(c);
      parent[node] = NO_NODE;
      reachable[node] = 0;
      depth[node] = this.depths.of(c, contents);
      if (before === NONE) {
        place[node] = Place.here;
        reachable[node] = 1;
      } else if (before === undefined || before >= c) {
        place[node] = Place.unknown;
        this.unknown++;
      } else if (before < index.length && index[before] !== 0) {
        const above = index[before]! - 1;
        place[node] = Place.here;
        parent[node] = above;
        children[above]!++;
        reachable[node] = reachable[above]!;
      } else place[node] = Place.gone;
      if (reachable[node] === 0) this.unreachable++;
    }
  }

  /** What hangs under each node, children before their parents. */
  private sum(): void {
    const { recency, lastTicket, size } = this;
    const { parent, firstChild, nextSibling, copies, active, shared, nodesBelow, blocksBelow } = this.words;
    firstChild.fill(NO_NODE, 0, size);
    nodesBelow.fill(1, 0, size);
    blocksBelow.set(copies.subarray(0, size));
    let tops = 0;
    for (let node = 0; node < size; node++) {
      recency[node] = active[node]! + shared[node]! > 0 ? Number.POSITIVE_INFINITY : lastTicket[node]!;
      if (parent[node] === NO_NODE) tops++;
    }
    const roots = new Uint32Array(tops);
    for (let node = size - 1; node >= 0; node--) {
      const above = parent[node]!;
      if (above === NO_NODE) {
        roots[--tops] = node;
        continue;
      }
      nodesBelow[above]! += nodesBelow[node]!;
      blocksBelow[above]! += blocksBelow[node]!;
      recency[above] = Math.max(recency[above]!, recency[node]!);
      nextSibling[node] = firstChild[above]!;
      firstChild[above] = node;
    }
    this.roots = roots;
  }
}

function makeWords(nodes: number): Words {
  return Object.fromEntries(WORDS.map((name) => [name, new Uint32Array(nodes)])) as Words;
}
