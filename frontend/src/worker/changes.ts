/** Which blocks changed since the page last saw the map, and what the map needs to know of each. */

import type { Blocks } from '../ledger/blocks';
import type { MapChange } from './protocol';
import { packBlock } from './word';

export class Changes {
  private readonly list: Uint32Array;
  private readonly stamp: Uint32Array;
  private count = 0;
  private mark = 1;
  private full = true;
  private jumped = true;

  constructor(size: number) {
    this.list = new Uint32Array(size);
    this.stamp = new Uint32Array(size);
  }

  get any(): boolean {
    return this.full || this.count > 0 || this.jumped;
  }

  /** The whole state is another one. */
  all(): void {
    this.full = true;
    this.jumped = true;
  }

  /** The view moved to another step by itself: what glowed before glows no more. */
  jump(): void {
    this.jumped = true;
  }

  /** A record changed these blocks. */
  add(blocks: Blocks): void {
    for (let i = 0; i < blocks.touchedCount; i++) {
      const block = blocks.touched[i]!;
      if (this.stamp[block] === this.mark) continue;
      this.stamp[block] = this.mark;
      this.list[this.count++] = block;
    }
  }

  /** All changes since the last call. `glow`: the blocks that glow, null for all that changed. */
  take(blocks: Blocks, blockSize: number, glow: Uint32Array | null): MapChange {
    let full: Uint32Array | null = null;
    let changed = new Uint32Array(0);
    let words = new Uint32Array(0);
    const many = this.full || this.count > blocks.size / 3;
    if (many) {
      full = new Uint32Array(blocks.size);
      for (let b = 0; b < blocks.size; b++) full[b] = packBlock(blocks, b, blockSize);
    } else {
      changed = this.list.slice(0, this.count);
      words = new Uint32Array(this.count);
      for (let i = 0; i < this.count; i++) words[i] = packBlock(blocks, changed[i]!, blockSize);
    }
    const change: MapChange = {
      full,
      blocks: changed,
      words,
      glow: glow ?? (this.full ? new Uint32Array(0) : this.list.slice(0, this.count)),
      jump: this.jumped,
    };
    this.count = 0;
    this.full = false;
    this.jumped = false;
    this.mark++;
    if (this.mark === 0xffffffff) {
      this.stamp.fill(0);
      this.mark = 1;
    }
    return change;
  }
}
