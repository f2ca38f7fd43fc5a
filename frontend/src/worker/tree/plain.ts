/** The prefix tree as plain values, for tests and for whoever wants to look at it by hand. */

import type { Fold } from '../../ledger/fold';
import { NO_NODE, Trie } from './trie';

export interface PlainNode {
  readonly content: number;
  /** The content that it follows, if a block holds that. */
  readonly parent: number | null;
  readonly depth: number;
  readonly reachable: boolean;
  readonly blocks: readonly number[];
  readonly hits: number;
  readonly below: number;
}

/** The contents that blocks hold, in their order. */
export function plainTree(fold: Fold): PlainNode[] {
  const trie = new Trie(fold.numBlocks);
  trie.build(fold);
  return Array.from({ length: trie.size }, (_, node) => {
    const blocks: number[] = [];
    for (let b = trie.firstBlock[node]!; b !== NO_NODE; b = trie.nextBlock[b]!) blocks.push(b);
    const parent = trie.parent[node]!;
    return {
      content: trie.content[node]!,
      parent: parent === NO_NODE ? null : trie.content[parent]!,
      depth: trie.depth[node]!,
      reachable: trie.reachable[node] === 1,
      blocks,
      hits: trie.hits[node]!,
      below: trie.blocksBelow[node]!,
    };
  });
}
