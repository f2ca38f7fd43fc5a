/**
 * Where each cell lies on the map: plain arithmetic, for drawing and for picking alike. Which block lies in it, `store/picture.ts` knows.
 *
 * Cells run row by row over a grid of `columns`, chosen so that the cells are as large as they can be. Scale is in
 * device pixels a cell, a whole number wherever cells can be seen singly, so that edges stay crisp.
 */

export interface Grid {
  readonly columns: number;
  readonly rows: number;
}

/** The grid whose cells are the largest in a frame of this size. */
export function chooseGrid(count: number, width: number, height: number): Grid {
  if (count <= 0 || width <= 0 || height <= 0) return { columns: 1, rows: 1 };
  const unit = count <= 4096 ? 4 : count <= 65_536 ? 8 : 32;
  let best: Grid = { columns: count, rows: 1 };
  let bestScale = 0;
  const about = Math.sqrt((count * width) / height);
  const from = Math.max(1, Math.floor((about * 0.6) / unit));
  for (let k = from; k * unit <= about * 1.7 + 2 * unit; k++) {
    const columns = Math.min(count, k * unit);
    const rows = Math.ceil(count / columns);
    const scale = crisp(Math.min(width / columns, height / rows));
    // Of equals the squarer one to the frame: fewer pixels stay empty.
    if (scale > bestScale || (scale === bestScale && columns * scale <= width && rows < best.rows)) {
      best = { columns, rows };
      bestScale = scale;
    }
  }
  return best;
}

/** A whole number of pixels where a cell is large enough to have edges. */
export function crisp(scale: number): number {
  return scale >= 4 ? Math.floor(scale) : scale;
}

/** Device pixels of a cell whose number can be read. */
const READABLE = 32;

export class Camera {
  grid: Grid = { columns: 1, rows: 1 };
  /** Device pixels a cell. */
  scale = 1;
  /** The device pixel of the grid's top left corner. */
  left = 0;
  top = 0;
  width = 0;
  height = 0;
  count = 0;
  /** Does the whole pool fill the frame (nothing was zoomed or moved)? */
  fitted = true;

  /** Take the frame's size (device pixels) and the number of blocks. */
  resize(width: number, height: number, count: number): void {
    if (width === this.width && height === this.height && count === this.count) return;
    this.width = width;
    this.height = height;
    this.count = count;
    if (this.fitted) this.fit();
    else this.clamp();
  }

  /** Show the whole pool. */
  fit(): void {
    this.fitted = true;
    this.grid = chooseGrid(this.count, this.width, this.height);
    this.scale = this.fitScale;
    this.left = 0;
    this.top = 0;
  }

  private get fitScale(): number {
    const { columns, rows } = this.grid;
    return crisp(Math.min(this.width / columns, this.height / rows));
  }

  /** Zoom by a factor around a device pixel. */
  zoom(factor: number, x: number, y: number): void {
    const { scale } = this;
    const least = this.fitScale;
    const most = Math.max(least, Math.min(this.width, this.height) / 4, 8);
    let next = Math.min(most, Math.max(least, scale * factor));
    if (next >= 4) next = factor > 1 ? Math.ceil(next) : Math.floor(next);
    next = Math.max(least, next);
    if (next === scale) return;
    const ratio = next / scale;
    this.scale = next;
    this.left = Math.round(x - (x - this.left) * ratio);
    this.top = Math.round(y - (y - this.top) * ratio);
    this.fitted = next === least;
    if (this.fitted) this.fit();
    else this.clamp();
  }

  /** Move by device pixels. */
  pan(dx: number, dy: number): void {
    if (this.fitted) return;
    this.left = Math.round(this.left + dx);
    this.top = Math.round(this.top + dy);
    this.clamp();
  }

  /** Keep some of the grid in the frame. */
  private clamp(): void {
    const { columns, rows } = this.grid;
    const hold = (at: number, size: number, frame: number): number =>
      size <= frame ? Math.max(0, Math.min(at, frame - size)) : Math.min(0, Math.max(at, frame - size));
    this.left = hold(this.left, columns * this.scale, this.width);
    this.top = hold(this.top, rows * this.scale, this.height);
  }

  /** The cell with a block at a device pixel, or null. */
  pick(x: number, y: number): number | null {
    const column = Math.floor((x - this.left) / this.scale);
    const row = Math.floor((y - this.top) / this.scale);
    if (column < 0 || column >= this.grid.columns || row < 0) return null;
    const cell = row * this.grid.columns + column;
    return cell < this.count ? cell : null;
  }

  /** The cell of the grid that is nearest to a device pixel. */
  nearest(x: number, y: number): number {
    const { columns, rows } = this.grid;
    const within = (at: number, end: number): number => Math.max(0, Math.min(end - 1, Math.floor(at)));
    const row = within((y - this.top) / this.scale, rows);
    return row * columns + within((x - this.left) / this.scale, columns);
  }

  /** The device pixel of a cell's top left corner. */
  place(cell: number): { x: number; y: number } {
    const { columns } = this.grid;
    return {
      x: this.left + (cell % columns) * this.scale,
      y: this.top + Math.floor(cell / columns) * this.scale,
    };
  }

  /** Device pixels between two cells. */
  get gap(): number {
    return this.scale >= 14 ? 2 : this.scale >= 4 ? 1 : 0;
  }

  /** Come so close to a cell that it can be read, with the cell in the middle. */
  show(cell: number): void {
    const near = Math.max(this.scale, Math.min(READABLE, this.width, this.height));
    let { x, y } = this.place(cell);
    this.zoom(near / this.scale, x + this.scale / 2, y + this.scale / 2);
    ({ x, y } = this.place(cell));
    this.pan(this.width / 2 - x - this.scale / 2, this.height / 2 - y - this.scale / 2);
  }

  /** Move so that a cell lies in the frame. */
  reveal(cell: number): void {
    const { x, y } = this.place(cell);
    const margin = this.scale;
    let dx = 0;
    let dy = 0;
    if (x < margin) dx = margin - x;
    else if (x + this.scale > this.width - margin) dx = this.width - margin - x - this.scale;
    if (y < margin) dy = margin - y;
    else if (y + this.scale > this.height - margin) dy = this.height - margin - y - this.scale;
    this.pan(dx, dy);
  }
}
