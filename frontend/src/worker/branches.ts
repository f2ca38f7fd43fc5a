/**
 * The sequences of a request as the tree of their forks, of those that live: who has ended is left out, unless branches part there.
 *
 *     0 ─┬─ 1 ─┬─ 3          ├─┬─ 3
 *        │     └─ 4 ── 5     │ └─ 5      0, 1 and 4 have ended: branches part at 0 and at 1, and at 4 none does
 *        └─ 2                └─ 2
 */

export interface Branch {
  readonly sequence: number;
  /** How many places where branches part, or sequences that live, lie above it. */
  readonly depth: number;
  /** Levels, from the outermost, at which another branch follows below: there a line goes on. */
  readonly lines: readonly boolean[];
}

interface Node {
  readonly sequence: number;
  readonly children: Node[];
}

/** Living sequences in the order of the tree: a parent before its children, and those as they were created. */
export function branchesOf(
  living: readonly number[],
  parentOf: (sequence: number) => number | null,
): readonly Branch[] {
  const isLiving = new Set(living);
  const nodes = new Map<number, Node>();
  const roots: Node[] = [];
  const nodeOf = (sequence: number): Node => {
    const known = nodes.get(sequence);
    if (known !== undefined) return known;
    const node: Node = { sequence, children: [] };
    nodes.set(sequence, node);
    return node;
  };
  for (const each of [...living].sort((a, b) => a - b)) {
    // A parent is created before its child: chains end, and none is a circle.
    for (let at = each, isNew = !nodes.has(each); isNew; ) {
      const node = nodeOf(at);
      const parent = parentOf(at);
      if (parent === null || parent >= at) {
        roots.push(node);
        break;
      }
      isNew = !nodes.has(parent);
      nodeOf(parent).children.push(node);
      at = parent;
    }
  }
  const found: Branch[] = [];
  const walk = (siblings: readonly Node[], lines: readonly boolean[]): void => {
    siblings.forEach((node, i) => {
      const own = [...lines, i < siblings.length - 1];
      if (isLiving.has(node.sequence))
        found.push({ sequence: node.sequence, depth: lines.length, lines: own });
      walk(shown(node.children), own);
    });
  };
  /** Those that have ended and have one branch are passed over. */
  const shown = (children: readonly Node[]): readonly Node[] =>
    children
      .map((child) => {
        let at = child;
        while (!isLiving.has(at.sequence) && at.children.length === 1) at = at.children[0]!;
        return at;
      })
      .sort((a, b) => a.sequence - b.sequence);
  walk(shown(roots), []);
  return found;
}
