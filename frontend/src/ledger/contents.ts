/** Interned contents: id → parent. They only grow and are never undone, so that several folds of one session share them. */

import { u32 } from './columns';
import { FrameError } from './frame';
import type { Contents as ContentColumns } from './generated/types';

const UNKNOWN = 0xfffffffe;
/** Ids are dense from 0; one above this is a fault (16 GiB of parents). */
const MAX_CONTENT = 1 << 30;

export class Contents {
  private parents = new Uint32Array(1024).fill(UNKNOWN);
  size = 0;
  /**
   * Every content below was interned at some time; of one that a keyframe did not list, the parent is not known: no block
   * held it, or a seek wanted no contents.
   */
  next = 0;

  add(columns: ContentColumns | undefined): void {
    if (columns?.content === undefined) return;
    const content = u32(columns.content, 'contents.content');
    const parent = u32(columns.parent, 'contents.parent');
    if (content.length !== parent.length) {
      throw new FrameError(`${content.length} contents have ${parent.length} parents`);
    }
    for (let i = 0; i < content.length; i++) this.set(content[i]!, parent[i]!);
  }

  private set(content: number, parent: number): void {
    if (content > MAX_CONTENT) throw new FrameError(`content ${content} is out of any order`);
    if (content >= this.parents.length) {
      const grown = new Uint32Array(Math.max(content + 1, 2 * this.parents.length)).fill(UNKNOWN);
      grown.set(this.parents);
      this.parents = grown;
    }
    if (this.parents[content] === UNKNOWN) this.size++;
    this.parents[content] = parent;
    this.next = Math.max(this.next, content + 1);
  }

  has(content: number): boolean {
    return content < this.parents.length && this.parents[content] !== UNKNOWN;
  }

  /** The parent of a content: `NONE` for the first block of a prompt, undefined when it is not known. */
  parent(content: number): number | undefined {
    return this.has(content) ? this.parents[content] : undefined;
  }
}
