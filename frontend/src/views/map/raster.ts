/**
 * The map's pixels, made by the CPU: what the programs of `webgl.ts` say of each pixel, and where there is no GPU much cheaper.
 *
 *     cells (a pixel or more)                     crowd (several cells a pixel)
 *     ┌──┐┌──┐  a row of pixels that is like      ┌──┬──┐
 *     │  ││  │  the one above it is copied;       │· │ ·│  four places in a pixel, each in some cell: their mean,
 *     ├──┤└──┘  only bars and the rims of what    ├──┼──┤  and the strongest glow of the four
 *     └──┘      glows have rows of their own      │· │ ·│
 *                                                 └──┴──┘
 */

import type { Picture } from '../../store/picture';
import { classOf, filledOf } from '../../worker/word';
import { rgb } from '../palette';
import type { Camera } from './camera';
import type { Colours } from './colours';
import { Crowd } from './crowd';
import { barOf, type Scene } from './renderer';

/** A colour as three numbers of ten bits, so that four can be added: red the lowest. */
type Wide = number;

/** Half of what a mean of four is divided by, in each of the three. */
const HALF = 2 | (2 << 10) | (2 << 20);

function widen([red, green, blue]: readonly [number, number, number]): Wide {
  return red | (green << 10) | (blue << 20);
}

/** A pixel as machines that browsers run on have it, of a colour that was added up four times. */
function meanOf(sum: Wide): number {
  const half = sum + HALF;
  return 0xff000000 | ((half >>> 2) & 255) | ((half >>> 4) & 0xff00) | ((half >>> 6) & 0xff0000);
}

/** A pixel on the way from one to another, by 0 to 256. */
function mixed(from: number, to: number, part: number): number {
  const channel = (shift: number): number => {
    const a = (from >>> shift) & 255;
    return (a + (((((to >>> shift) & 255) - a) * part + 128) >> 8)) << shift;
  };
  return 0xff000000 | channel(0) | channel(8) | channel(16);
}

/** A pixel that is drawn for a block of its own costs as much as so many others. */
const SINGLY = 6;

export interface Rect {
  readonly left: number;
  readonly top: number;
  /** The first column and row behind it. */
  readonly right: number;
  readonly bottom: number;
}

export class Raster {
  readonly pixels: Uint32Array<ArrayBuffer>;
  private readonly crowd: Crowd | null;
  private picture!: Picture;
  private camera!: Camera;
  /** Cells: the grid's column at each column of pixels, -1 for the ground; how far into the cell it is. */
  private readonly column: Int32Array;
  private readonly inside: Float64Array;
  /** How much of a block's glow shows at each column, 0 to 1: more at the rim of its cell. */
  private readonly ring: Float64Array;
  /** Crowd: the grid's columns a quarter to the left and to the right of each pixel's middle. */
  private readonly near: Int32Array;
  private readonly far: Int32Array;
  /** Crowd: the columns of pixels that have cells on both sides. */
  private from = 0;
  private to = 0;
  private edge = 0;
  private bar = 0;
  private colours!: Colours;
  private wide = new Int32Array(0);
  private wideGround: Wide = 0;
  /** The pixels of states or shades, and those of a bar's full and empty part. */
  private plain = new Uint32Array(0);
  private full = new Uint32Array(0);
  private empty = new Uint32Array(0);
  /** For each pixel of these three: on the way to what glows, by 0 to 256; made when it is asked for. */
  private readonly glowing = new Map<number, Uint32Array>();
  private ground = 0;
  private fresh = 0;
  private amount = 0;

  constructor(
    readonly width: number,
    readonly height: number,
    /** Blocks of the pool. */
    readonly size: number,
  ) {
    this.crowd = Crowd.of(width, height, size);
    this.pixels = this.crowd?.pixels ?? new Uint32Array(width * height);
    this.column = new Int32Array(width);
    this.inside = new Float64Array(width);
    this.ring = new Float64Array(width);
    this.near = new Int32Array(width);
    this.far = new Int32Array(width);
  }

  /** Take the scene of which pixels are drawn from now on. */
  look(scene: Scene): void {
    const { picture, camera, colours, glow } = scene;
    this.picture = picture;
    this.camera = camera;
    this.amount = glow;
    this.paint(colours);
    const { scale, left, gap } = camera;
    const { columns } = camera.grid;
    const { column, inside, near, far, width } = this;
    this.edge = scale - gap;
    this.bar = barOf(scene);
    this.from = width;
    this.to = 0;
    const within = (at: number): number => (at >= 0 && at < columns ? at : -1);
    for (let x = 0; x < width; x++) {
      const at = x + 0.5 - left;
      const cell = Math.floor(at / scale);
      inside[x] = at - cell * scale;
      column[x] = inside[x]! < this.edge ? within(cell) : -1;
      this.ring[x] = this.ringAt(inside[x]!);
      near[x] = within(Math.floor((at - 0.25) / scale));
      far[x] = within(Math.floor((at + 0.25) / scale));
      if (near[x]! < 0 || far[x]! < 0) continue;
      this.from = Math.min(this.from, x);
      this.to = x + 1;
    }
    if (colours.isState) this.crowd?.look(this.plain, near, far);
  }

  private paint(colours: Colours): void {
    const { bg, 's-new': fresh } = colours.palette;
    this.ground = meanOf(4 * widen(rgb(bg)));
    this.fresh = meanOf(4 * widen(rgb(fresh)));
    this.wideGround = widen(rgb(bg));
    this.glowing.clear();
    if (colours === this.colours) return;
    this.colours = colours;
    this.plain = colours.pixels.slice();
    this.wide = Int32Array.from(this.plain, (pixel) =>
      widen([pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255]),
    );
    this.full = this.plain.map((pixel) => mixed(pixel, 0xffffffff, 87));
    this.empty = this.plain.map((pixel) => mixed(pixel, this.ground, 108));
  }

  /** The pixels that may show something of a block; empty where it lies out of sight. */
  rectOf(block: number): Rect {
    const { x, y } = this.camera.place(block);
    const { scale } = this.camera;
    const most = (at: number, end: number): number => Math.max(0, Math.min(end, at));
    return {
      left: most(Math.floor(x) - 1, this.width),
      top: most(Math.floor(y) - 1, this.height),
      right: most(Math.ceil(x + scale) + 1, this.width),
      bottom: most(Math.ceil(y + scale) + 1, this.height),
    };
  }

  private get whole(): Rect {
    return { left: 0, top: 0, right: this.width, bottom: this.height };
  }

  draw(rect: Rect): void {
    if (this.camera.scale >= 1) this.drawCells(rect);
    else this.drawCrowd(rect, null);
  }

  drawAll(): void {
    const { crowd, picture, whole } = this;
    const isFast =
      crowd !== null && this.colours.isState && this.camera.scale < 1 && !this.isMany(picture.litCount);
    if (!isFast) {
      this.draw(whole);
      return;
    }
    crowd.take(picture.words);
    this.drawCrowd(whole, crowd);
    for (const block of picture.lit()) this.draw(this.rectOf(block));
  }

  /** So many blocks that to draw them one by one takes longer than to draw all. */
  isMany(blocks: number): boolean {
    return blocks * SINGLY * (this.camera.scale + 2) ** 2 > this.width * this.height;
  }

  // -- cells ----------------------------------------------------------------------------------------------------------

  private drawCells({ left, top, right, bottom }: Rect): void {
    const { camera, pixels, width, edge, bar } = this;
    /** Of the row of pixels above: its row of the grid, if it may be copied, and what it shows of glow. */
    let above = -1;
    let ringAbove = 0;
    let isBarAbove = false;
    let isPlain = false;
    for (let y = top; y < bottom; y++) {
      const at = y + 0.5 - camera.top;
      const row = Math.floor(at / camera.scale);
      const inside = at - row * camera.scale;
      const start = y * width + left;
      if (row < 0 || row >= camera.grid.rows || inside >= edge) {
        pixels.fill(this.ground, start, start + right - left);
        above = -1;
        continue;
      }
      const isBar = inside >= edge - bar;
      const ring = this.ringAt(inside);
      if (row === above && isBar === isBarAbove && (isPlain || ring === ringAbove)) {
        pixels.copyWithin(start, start - width, start - width + right - left);
        continue;
      }
      isPlain = this.drawRow(y, row, ring, left, right, isBar);
      [above, ringAbove, isBarAbove] = [row, ring, isBar];
    }
  }

  /** One row of pixels; true: nothing in it glows. */
  private drawRow(
    y: number,
    row: number,
    ring: number,
    left: number,
    right: number,
    isBar: boolean,
  ): boolean {
    const { picture, camera, column, pixels, plain, ground, inside, ring: rings } = this;
    const { shift, mask } = this.colours;
    const first = row * camera.grid.columns;
    const start = y * this.width;
    let isPlain = true;
    let x = left;
    while (x < right) {
      const at = column[x]!;
      const block = first + at;
      let end = x + 1;
      while (end < right && column[end] === at) end++;
      if (at < 0 || block >= picture.size) {
        for (; x < end; x++) pixels[start + x] = ground;
        continue;
      }
      const glow = picture.glow[block]!;
      if (glow === 0 && !isBar) {
        const colour = plain[(picture.words[block]! >>> shift) & mask]!;
        for (; x < end; x++) pixels[start + x] = colour;
        continue;
      }
      if (glow > 0) isPlain = false;
      const word = picture.words[block]!;
      const place = this.colours.place(word);
      // How full it is says nothing where nobody holds it.
      const filled = isBar && classOf(word) >= 2 ? filledOf(word) : 0;
      const until = this.edge * filled;
      const most = (glow / 255) * this.amount * 256;
      const before = this.glowingOf((filled > 0 ? this.full : plain)[place]!);
      const behind = this.glowingOf((filled > 0 ? this.empty : plain)[place]!);
      for (; x < end; x++) {
        const lit = Math.max(ring, rings[x]!);
        pixels[start + x] = (inside[x]! < until ? before : behind)[Math.round(most * lit)]!;
      }
    }
    return isPlain;
  }

  /** How much of a block's glow shows so far into its cell: a ring, so that its state can still be seen; all of a small cell. */
  private ringAt(inside: number): number {
    const { scale } = this.camera;
    const rim = Math.min(inside, this.edge - inside);
    return Math.max(scale < 9 ? 0.85 : 0.24, Math.min(1, 1.1 - (6 * rim) / scale));
  }

  /** What is between a pixel and one that glows, by 0 to 256. */
  private glowingOf(colour: number): Uint32Array {
    let found = this.glowing.get(colour);
    if (found === undefined) {
      found = Uint32Array.from({ length: 257 }, (_, part) => mixed(colour, this.fresh, part));
      this.glowing.set(colour, found);
    }
    return found;
  }

  // -- crowd ----------------------------------------------------------------------------------------------------------

  private drawCrowd({ left, top, right, bottom }: Rect, fast: Crowd | null): void {
    const { picture, camera, width } = this;
    const { columns } = camera.grid;
    const glows = picture.litCount > 0;
    for (let y = top; y < bottom; y++) {
      const upper = Math.floor((y + 0.25 - camera.top) / camera.scale);
      const lower = Math.floor((y + 0.75 - camera.top) / camera.scale);
      let [from, to] = [Math.max(left, this.from), Math.min(right, this.to)];
      // Of a row that is not whole each place is looked at.
      if (upper < 0 || (lower + 1) * columns > picture.size || from >= to) [from, to] = [right, right];
      if (fast !== null) to -= (to - from) & 1;
      for (let x = left; x < from; x++) this.drawPlaces(x, y, upper, lower);
      if (fast !== null) fast.row(y * width, from, to - from, upper * columns, lower * columns, columns);
      else if (from < to) this.drawWhole(y * width, from, to, upper * columns, lower * columns, glows);
      for (let x = to; x < right; x++) this.drawPlaces(x, y, upper, lower);
    }
  }

  /** Pixels whose four places all are in cells. */
  private drawWhole(
    start: number,
    from: number,
    to: number,
    upper: number,
    lower: number,
    glows: boolean,
  ): void {
    const { pixels, near, far, wide, fresh } = this;
    const { words, glow } = this.picture;
    const { shift, mask } = this.colours;
    const most = (256 / 255) * this.amount * 0.7;
    for (let x = from; x < to; x++) {
      const [a, b] = [near[x]!, far[x]!];
      const half =
        wide[(words[upper + a]! >>> shift) & mask]! +
        wide[(words[upper + b]! >>> shift) & mask]! +
        wide[(words[lower + a]! >>> shift) & mask]! +
        wide[(words[lower + b]! >>> shift) & mask]! +
        HALF;
      pixels[start + x] =
        0xff000000 | ((half >>> 2) & 255) | ((half >>> 4) & 0xff00) | ((half >>> 6) & 0xff0000);
      if (!glows) continue;
      const lit = Math.max(glow[upper + a]!, glow[upper + b]!, glow[lower + a]!, glow[lower + b]!);
      if (lit > 0) pixels[start + x] = mixed(pixels[start + x]!, fresh, Math.round(lit * most));
    }
  }

  /** A pixel at the edge of the grid: some of its places may be on the ground. */
  private drawPlaces(x: number, y: number, upper: number, lower: number): void {
    const { picture, near, far, wide, colours } = this;
    const { columns } = this.camera.grid;
    let sum: Wide = 0;
    let lit = 0;
    for (const row of [upper, lower]) {
      for (const column of [near[x]!, far[x]!]) {
        const block = row * columns + column;
        const isCell = row >= 0 && column >= 0 && block < picture.size;
        sum += isCell ? wide[colours.place(picture.words[block]!)]! : this.wideGround;
        if (isCell) lit = Math.max(lit, picture.glow[block]!);
      }
    }
    const part = Math.round((lit / 255) * this.amount * 0.7 * 256);
    this.pixels[y * this.width + x] = mixed(meanOf(sum), this.fresh, part);
  }
}
