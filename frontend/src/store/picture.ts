/** The map's memory on the page: a word a block, and when each last changed. Plain arrays; drawn, never observed. */

import type { MapChange } from '../worker/protocol';

/** A block that never glowed. */
const NEVER = 0;

export class Picture {
  words: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  /** When a block last changed: ms of performance.now, times 2, plus 1 for more than a fill. 0: long ago. */
  changed: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  /** Grows with every change, so that who draws can tell. */
  version = 0;
  /** The blocks that changed since the last upload; null: all of them. */
  dirty: { low: number; high: number } | null = null;
  /** When anything last glowed. */
  lastGlow = 0;

  get size(): number {
    return this.words.length;
  }

  reset(size: number): void {
    this.words = new Uint32Array(size);
    this.changed = new Uint32Array(size);
    this.lastGlow = 0;
    this.touchAll();
  }

  private touchAll(): void {
    this.dirty = { low: 0, high: this.size - 1 };
    this.version++;
  }

  private touch(block: number): void {
    if (this.dirty === null) this.dirty = { low: block, high: block };
    else if (block < this.dirty.low) this.dirty.low = block;
    else if (block > this.dirty.high) this.dirty.high = block;
  }

  private glow(blocks: Uint32Array, value: number): void {
    for (let i = 0; i < blocks.length; i++) {
      const block = blocks[i]!;
      if (block >= this.size) continue;
      this.changed[block] = value;
      this.touch(block);
    }
  }

  apply(change: MapChange): void {
    const now = Math.max(1, Math.round(performance.now()));
    if (change.full !== null && change.full.length === this.size) {
      this.words.set(change.full);
      this.touchAll();
    }
    if (change.jump) {
      this.changed.fill(NEVER);
      this.touchAll();
    }
    for (let i = 0; i < change.blocks.length; i++) {
      const block = change.blocks[i]!;
      this.words[block] = change.words[i]!;
      this.touch(block);
    }
    this.glow(change.faint, 2 * now);
    this.glow(change.glow, 2 * now + 1);
    if (change.glow.length + change.faint.length > 0) this.lastGlow = now;
    this.version++;
  }

  /** What has to be uploaded: rows of `width` blocks, from and to (excluded). */
  takeDirtyRows(width: number): [number, number] | null {
    const { dirty } = this;
    if (dirty === null || this.size === 0) return null;
    this.dirty = null;
    return [Math.floor(dirty.low / width), Math.floor(dirty.high / width) + 1];
  }
}

export const picture = new Picture();
