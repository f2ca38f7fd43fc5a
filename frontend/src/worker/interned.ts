/** The token ids of interned contents, in bounded memory: what was not used for longest goes first. */

import { u32 } from '../ledger/columns';
import type { Text } from '../ledger/generated/types';

const MOST_TOKENS = 1 << 20;
/** So much of it is kept where it has become too much: a map whose oldest entry is deleted again and again skips all the holes before. */
const KEPT = 7 / 8;

export class Interned {
  private readonly tokens = new Map<number, Uint32Array>();
  private size = 0;

  constructor(
    private readonly blockSize: number,
    private readonly most = MOST_TOKENS,
  ) {}

  /** The tokens of a content; undefined: they are not here. */
  get(content: number): Uint32Array | undefined {
    const found = this.tokens.get(content);
    if (found !== undefined) {
      this.tokens.delete(content);
      this.tokens.set(content, found);
    }
    return found;
  }

  set(content: number, tokens: Uint32Array): void {
    if (this.tokens.has(content)) return;
    this.tokens.set(content, tokens);
    this.size += tokens.length;
    if (this.size <= this.most) return;
    for (const [oldest, gone] of this.tokens) {
      if (this.size <= KEPT * this.most) return;
      this.tokens.delete(oldest);
      this.size -= gone.length;
    }
  }

  /** Take those that a record tells: their tokens stand block after block. */
  note(text: Text): void {
    const contents = u32(text.content, 'content');
    if (contents.length === 0) return;
    const tokens = u32(text.tokens, 'tokens');
    contents.forEach((content, i) => {
      const part = tokens.slice(i * this.blockSize, (i + 1) * this.blockSize);
      if (part.length === this.blockSize) this.set(content, part);
    });
  }
}
