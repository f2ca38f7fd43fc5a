/**
 * What the prefix tree costs the worker: `node bench-tree.js BLOCKS`, built by `vite build --ssr scripts/bench-tree.ts`.
 *
 * A pool of BLOCKS blocks, 83 of 100 of which hold a content, in chains of 8 to 24 behind one of 4,000 shared beginnings.
 * Times are CPU time of this process, ms: the first trie, one built again, a layout with all rows closed and with all open, an
 * answer of 60 rows. Prints one JSON object.
 */

import { treeAnswer } from '../src/worker/answers/tree';
import { Freed } from '../src/worker/freed';
import type { Texts } from '../src/worker/texts';
import { Tree, type TreeWants } from '../src/worker/tree/tree';
import { foldOf, type Held } from '../tests/held';

const blocks = Number(process.argv[2] ?? 1_000_000);
const contents = Math.floor(0.83 * blocks);
const parents: (number | null)[] = [];
for (let content = 0; content < contents; ) {
  let parent = content < 4000 ? null : (content * 7919) % 4000;
  for (let length = 8 + (content % 17); length > 0 && content < contents; length--) {
    parents.push(parent);
    parent = content < 4000 ? null : content;
    content++;
  }
}
const held: (Held | null)[] = Array.from({ length: blocks }, (_, block) =>
  // Contents lie in no order in the pool.
  block % 100 < 83
    ? { content: (block * 613) % contents, count: block % 3 === 0 ? 1 : 0, hits: block % 5 }
    : null,
);
const fold = foldOf(parents, held);
const texts = {
  pieces: new Map<number, string>(),
  wantPieces: () => {},
  content: () => Uint32Array.from({ length: 16 }, (_, i) => i),
} as unknown as Texts;
const tree = new Tree(fold, texts);
const closed: TreeWants = {
  open: [],
  deep: [],
  closed: [],
  unrolled: [],
  from: 0,
  to: 60,
  sort: 'blocks',
  find: '',
};

function ms(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return Math.round((user + system) / 100) / 10;
}

const first = ms(() => tree.trie.build(fold));
const again = Array.from({ length: 7 }, () => ms(() => tree.trie.build(fold))).sort((a, b) => a - b)[3]!;
tree.update(fold, closed, performance.now());
const deep = Array.from(tree.trie.roots, (node) => tree.trie.content[node]!);
const layout = ms(() => tree.update(fold, { ...closed, sort: 'hits' }, 0));
const answer = (): void => {
  treeAnswer(fold, tree, closed, null, { texts, freed: new Freed(), fault: null });
};
answer();
const answering = ms(answer);
const open = ms(() => tree.update(fold, { ...closed, deep }, 0));
const told = {
  blocks,
  contents: tree.trie.size,
  roots: tree.trie.roots.length,
  first_ms: first,
  again_ms: again,
  layout_ms: layout,
  open_ms: open,
  open_rows: tree.layout.length,
  answer_ms: answering,
};
process.stdout.write(`${JSON.stringify(told)}\n`);
