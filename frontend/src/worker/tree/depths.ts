/** How many blocks a prompt has up to a content: found once, as what a content follows never changes. */

import type { Contents } from '../../ledger/contents';
import { NONE } from '../../ledger/generated/constants';

/** Not more than these are remembered as missing: of so many all is asked for at once. */
export const MANY_MISSING = 200;

export class Depths {
  /** Contents that were met of which it is not known what they follow (one more than {@link MANY_MISSING} at most). */
  readonly missing = new Set<number>();
  private known = new Uint32Array(0);

  /** Contents from the beginning of the prompt to this one, both included; 0: that is not known. */
  of(content: number, contents: Contents): number {
    if (content >= this.known.length) {
      const grown = new Uint32Array(Math.max(contents.next, content + 1, 2 * this.known.length));
      grown.set(this.known);
      this.known = grown;
    }
    const { known } = this;
    if (known[content] !== 0) return known[content]!;
    // Up to one that is known, and then back down.
    const path: number[] = [];
    let at = content;
    while (known[at] === 0) {
      const parent = contents.parent(at);
      if (parent === undefined && this.missing.size <= MANY_MISSING) this.missing.add(at);
      if (parent === undefined || (parent !== NONE && parent >= at)) return 0;
      path.push(at);
      if (parent === NONE) break;
      at = parent;
    }
    let depth = known[at]!;
    for (let i = path.length - 1; i >= 0; i--) known[path[i]!] = ++depth;
    return depth;
  }
}
