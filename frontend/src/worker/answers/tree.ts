/** The prefix tree: the rows that are in sight, and what is said above them. */

import type { Blocks } from '../../ledger/blocks';
import type { Fold } from '../../ledger/fold';
import type { Freed } from '../freed';
import { join } from '../pieces';
import type { Texts } from '../texts';
import { BLOCK, wayTo } from '../tree/layout';
import type { Tree, TreeWants } from '../tree/tree';
import { NO_NODE, Place } from '../tree/trie';

export interface TreeRow {
  /** The contents with which a run begins and ends; of one block, its own. */
  readonly first: number;
  readonly last: number;
  /** One block of an unrolled run? */
  readonly isBlock: boolean;
  readonly level: number;
  /** The row that it is beneath; -1: it is at the top. */
  readonly up: number;
  /** Its place in its level beneath one row, from 1, and how many there are. */
  readonly place: number;
  readonly setSize: number;
  /** How many branches follow, and are they shown? Is the run shown block by block? */
  readonly branches: number;
  readonly isOpen: boolean;
  readonly isUnrolled: boolean;
  /** How many blocks a prompt has up to the first one, and itself; 0: not known. */
  readonly depth: number;
  /** How many blocks a prompt has in it. */
  readonly length: number;
  /** The blocks that hold it, of its first content first (some, where they are many), and how many they are. */
  readonly blocks: Uint32Array;
  readonly held: number;
  /** Of these: cached and free, active, shared. */
  readonly states: readonly [number, number, number];
  /** Blocks that hold it or what follows. */
  readonly below: number;
  /** How often its first content was hit since its blocks were labelled with it. */
  readonly hits: number;
  /** Sequences that hold some of it, and how many they are. */
  readonly holders: readonly { readonly sequence: number; readonly label: string }[];
  readonly holding: number;
  /** The place in the free queue of its block that goes first; null: none is free. */
  readonly rank: number | null;
  /** The step in which the last of its blocks was freed; null: one is in use, or the page has not seen it. */
  readonly freed: number | null;
  /** A prompt can hit it; what it follows is in no block any more; it is not known what it follows. */
  readonly standing: 'reachable' | 'cut off' | 'unreachable' | 'unknown';
  /** How its text begins; null: not recorded, or (`isLoading`) on its way. */
  readonly text: string | null;
  readonly isLoading: boolean;
  /** The text that is looked for goes through it, or ends or differs in it. */
  readonly met: 'not' | 'whole' | 'end';
}

export interface FoundAnswer {
  /** Whole blocks that the text meets, and how many of its characters; is that all of it? */
  readonly blocks: number;
  readonly met: number;
  readonly isWhole: boolean;
  /** How many contents meet it so far, and how many are yet to be looked at. */
  readonly nodes: number;
  readonly awaited: number;
  /** The row where it ends or differs; null: there is none. */
  readonly row: number | null;
}

export interface TreeAnswer {
  /** Of which step it is: a large tree is built now and then. */
  readonly step: number;
  readonly total: number;
  /** The index of the first of `rows`. */
  readonly from: number;
  readonly rows: readonly TreeRow[];
  /** The greatest `below` of a row at the top. */
  readonly most: number;
  /** Contents, the blocks that hold them, those that no prompt can hit, and those of which it is not known. */
  readonly contents: number;
  readonly blocks: number;
  readonly unreachable: number;
  readonly unknown: number;
  /** Why it could not be found out what they follow. */
  readonly fault: string | null;
  readonly found: FoundAnswer | null;
  /** The selected block: its row, and the contents that must be open for that to be seen; null: it holds none. */
  readonly selected: {
    readonly block: number;
    readonly row: number | null;
    readonly way: readonly number[];
  } | null;
}

/** Tokens of a row's text. */
const START = 64;
/** Blocks of a row that are told one by one. */
const MOST_BLOCKS = 256;
const MOST_HOLDERS = 6;

export interface Beside {
  readonly texts: Texts;
  readonly freed: Freed;
  /** Why it could not be found out what contents follow. */
  readonly fault: string | null;
}

export function treeAnswer(
  fold: Fold,
  tree: Tree,
  wants: TreeWants,
  selected: number | null,
  { texts, freed, fault }: Beside,
): TreeAnswer {
  const { trie, layout, found } = tree;
  const from = Math.min(wants.from, layout.length);
  const to = Math.min(wants.to, layout.length);
  texts.wantPieces(fold.record);
  const nodes: number[][] = [];
  for (let row = from; row < to; row++) nodes.push(nodesOf(tree, row));
  const holders = holdersOf(fold, tree, nodes);
  const ranks = ranksOf(
    fold.blocks,
    nodes.map((own) => lowest(tree, own)),
  );
  const ends = new Set(found?.nodes.map((node) => trie.headOf(node)));
  const endBlocks = new Set(found?.nodes);
  const unrolled = new Set(wants.unrolled);
  const rows = nodes.map((own, i): TreeRow => {
    const row = from + i;
    const [first, last] = [own[0]!, own.at(-1)!];
    const isBlock = layout.kind[row] === BLOCK;
    let held = 0;
    let active = 0;
    let shared = 0;
    let latest = Number.NEGATIVE_INFINITY;
    for (const node of own) {
      held += trie.copies[node]!;
      active += trie.active[node]!;
      shared += trie.shared[node]!;
      if (trie.lastTicket[node]! > latest) latest = trie.lastTicket[node]!;
    }
    const { labels, count } = holders[i]!;
    const said = textOf(own, tree, texts);
    const isEnd = isBlock ? endBlocks.has(first) : ends.has(first);
    return {
      first: trie.content[first]!,
      last: trie.content[last]!,
      isBlock,
      level: layout.level[row]!,
      up: layout.up[row]! - 1,
      place: layout.placeInSet[row]!,
      setSize: layout.setSize[row]!,
      branches: isBlock ? 0 : trie.children[last]!,
      isOpen: layout.isOpen[row] === 1,
      isUnrolled: !isBlock && unrolled.has(trie.content[first]!),
      depth: trie.depth[first]!,
      length: own.length,
      blocks: blocksOf(tree, own),
      held,
      states: [held - active - shared, active, shared],
      below: trie.blocksBelow[first]!,
      hits: trie.hits[first]!,
      holders: labels,
      holding: count,
      rank: ranks[i]!,
      freed: active + shared > 0 ? null : freed.stepOf(latest),
      standing: standingOf(tree, first),
      text: said ?? null,
      isLoading: said === undefined,
      met: isEnd ? 'end' : tree.way.has(first) ? 'whole' : 'not',
    };
  });
  return {
    step: tree.step,
    total: layout.length,
    from,
    rows,
    most: layout.most,
    contents: trie.size,
    blocks: trie.blocks,
    unreachable: trie.unreachable,
    unknown: trie.unknown,
    fault,
    found: found && {
      blocks: found.blocks,
      met: found.met,
      isWhole: found.isWhole,
      nodes: found.nodes.length,
      awaited: found.awaited.length,
      row: found.nodes.length === 0 ? null : layout.rowOf(found.nodes[0]!),
    },
    selected: selected === null ? null : placeOf(fold, tree, selected),
  };
}

/** The nodes of a row, from the first to the last. */
function nodesOf({ trie, layout }: Tree, row: number): number[] {
  const nodes = [layout.node[row]!];
  if (layout.kind[row] === BLOCK) return nodes;
  for (let node = nodes[0]!; trie.children[node] === 1; ) {
    node = trie.firstChild[node]!;
    nodes.push(node);
  }
  return nodes;
}

function blocksOf({ trie }: Tree, nodes: readonly number[]): Uint32Array {
  const blocks: number[] = [];
  for (const node of nodes) {
    for (let b = trie.firstBlock[node]!; b !== NO_NODE; b = trie.nextBlock[b]!) {
      if (blocks.length === MOST_BLOCKS) return Uint32Array.from(blocks);
      blocks.push(b);
    }
  }
  return Uint32Array.from(blocks);
}

function standingOf({ trie }: Tree, node: number): TreeRow['standing'] {
  if (trie.reachable[node] === 1) return 'reachable';
  if (trie.place[node] === Place.gone) return 'cut off';
  return trie.place[node] === Place.unknown ? 'unknown' : 'unreachable';
}

/** Of a block that is selected. The state may be younger than the tree. */
function placeOf({ blocks }: Fold, { trie, layout }: Tree, block: number): TreeAnswer['selected'] {
  const node = block < blocks.size ? trie.nodeOf(blocks.content[block]!) : NO_NODE;
  if (node === NO_NODE) return null;
  return { block, row: layout.rowOf(node), way: wayTo(trie, node) };
}

/** How the text of a run begins; undefined: it is on its way; null: not recorded. */
function textOf(nodes: readonly number[], { trie }: Tree, texts: Texts): string | null | undefined {
  const tokens: number[] = [];
  for (const node of nodes) {
    const own = texts.content(trie.content[node]!);
    if (own == null) {
      if (tokens.length === 0) return own;
      break;
    }
    tokens.push(...own);
    if (tokens.length >= START) break;
  }
  const parts = join(tokens.slice(0, START), texts.pieces, true);
  const text = parts.map((part) => ('text' in part ? part.text : '')).join('');
  return text === '' ? null : text;
}

// -- what is found by one pass over the tables, and one over the queue ------------------------------------------------

/** Who holds blocks of each row. A block may be in two rows: its own in an unrolled run, and that of the run. */
function holdersOf(
  fold: Fold,
  { trie }: Tree,
  rows: readonly (readonly number[])[],
): { labels: { sequence: number; label: string }[]; count: number }[] {
  const rowsOfBlock = new Map<number, number[]>();
  const isWanted = new Uint8Array(fold.numBlocks);
  rows.forEach((nodes, row) => {
    for (const node of nodes) {
      for (let b = trie.firstBlock[node]!; b !== NO_NODE; b = trie.nextBlock[b]!) {
        if (isWanted[b] === 0) rowsOfBlock.set(b, []);
        isWanted[b] = 1;
        rowsOfBlock.get(b)!.push(row);
      }
    }
  });
  const found = rows.map(() => new Set<number>());
  for (const table of fold.tables.map.values()) {
    for (let position = 0; position < table.end; position++) {
      const block = table.blocks[position]!;
      if (isWanted[block] !== 1) continue;
      for (const row of rowsOfBlock.get(block)!) found[row]!.add(table.sequence);
    }
  }
  return found.map((sequences) => ({
    labels: [...sequences]
      .sort((a, b) => a - b)
      .slice(0, MOST_HOLDERS)
      .map((sequence) => ({ sequence, label: fold.requests.memory.label(sequence) })),
    count: sequences.size,
  }));
}

/** The ticket of the block of a row that goes first; NaN: none is free. */
function lowest({ trie }: Tree, nodes: readonly number[]): number {
  let ticket = Number.NaN;
  for (const node of nodes) {
    const own = trie.firstTicket[node]!;
    // One that is NaN is below none.
    if (own < ticket || Number.isNaN(ticket)) ticket = own;
  }
  return ticket;
}

/** How many blocks go before each of some tickets; null for NaN. */
function ranksOf({ ticket, size }: Blocks, tickets: readonly number[]): (number | null)[] {
  const sorted = Float64Array.from(new Set(tickets.filter((each) => !Number.isNaN(each)))).sort();
  const before = new Float64Array(sorted.length + 1);
  const highest = sorted.at(-1) ?? Number.NEGATIVE_INFINITY;
  for (let b = 0; b < size; b++) {
    const own = ticket[b]!;
    if (!(own < highest)) continue;
    before[above(sorted, own)]!++;
  }
  for (let i = 1; i < before.length; i++) before[i]! += before[i - 1]!;
  return tickets.map((each) => (Number.isNaN(each) ? null : before[sorted.indexOf(each)]!));
}

/** The first of an ascending list that is greater than a value. */
function above(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
