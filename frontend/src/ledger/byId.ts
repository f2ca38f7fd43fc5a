/**
 * A map whose keys are ids: handed out one after the other, so that those of one time lie together in a page.
 *
 *     id = 64 × page + slot        pages: Map ──▶ [slot 0 … 63]
 *
 * What grows for as long as a session lasts (every request and sequence that there ever was) is soon larger than any
 * cache of a machine; a page is looked up once for its 64 ids, and setting the next id writes beside the last one.
 */

const SLOTS = 64;

export class ById<V extends object> {
  private readonly pages = new Map<number, (V | undefined)[]>();
  private lastKey = -1;
  private last: (V | undefined)[] = [];
  size = 0;

  get(id: number): V | undefined {
    const key = Math.floor(id / SLOTS);
    const page = key === this.lastKey ? this.last : this.pages.get(key);
    return page?.[id - key * SLOTS];
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  set(id: number, value: V): void {
    const key = Math.floor(id / SLOTS);
    if (key !== this.lastKey) {
      let page = this.pages.get(key);
      if (page === undefined) {
        page = new Array(SLOTS);
        this.pages.set(key, page);
      }
      this.lastKey = key;
      this.last = page;
    }
    const slot = id - key * SLOTS;
    if (this.last[slot] === undefined) this.size++;
    this.last[slot] = value;
  }

  delete(id: number): void {
    const key = Math.floor(id / SLOTS);
    const page = this.pages.get(key);
    const slot = id - key * SLOTS;
    if (page?.[slot] === undefined) return;
    page[slot] = undefined;
    this.size--;
    if (page.some((value) => value !== undefined)) return;
    this.pages.delete(key);
    if (key === this.lastKey) this.lastKey = -1;
  }

  /** All pairs, page by page. */
  *[Symbol.iterator](): IterableIterator<[number, V]> {
    for (const [key, page] of this.pages) {
      for (let slot = 0; slot < SLOTS; slot++) {
        const value = page[slot];
        if (value !== undefined) yield [key * SLOTS + slot, value];
      }
    }
  }
}
