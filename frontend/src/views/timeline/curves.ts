/**
 * The pixels of the timeline's curves: what happened in bands, the stack of usage, tokens a step, and the hit rate. Made by the
 * page, column by column: with 500 steps they are some 4,000 rectangles, and all of them are drawn anew with every step.
 *
 *     ▁▁ ▂▁▁    each pixel is written once: its colour goes by how high the curves are in its column
 *     ▃▅▆▆▅▇
 */

import type { Buckets } from '../../worker/series';
import { type Palette, rgb } from '../palette';
import { GAP, type Layout, type TimelineScene, xOf } from './draw';

function pixelOf(colour: string, opacity = 255): number {
  const [red, green, blue] = rgb(colour);
  return (red | (green << 8) | (blue << 16) | (opacity << 24)) >>> 0;
}

/** A lane of so many rows from a row on, in device pixels. */
interface Lane {
  readonly top: number;
  readonly height: number;
}

export class Curves {
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private width = 0;
  /** Of a bucket: its first column of pixels, and the one behind it. */
  private from = new Int32Array(0);
  private to = new Int32Array(0);

  /** Put them on a canvas, over whatever is there between the marks and the rows of requests. */
  draw(context: CanvasRenderingContext2D, scene: TimelineScene, ratio: number): void {
    const { layout, palette, buckets } = scene;
    const at = (y: number): number => Math.round(y * ratio);
    const top = at(layout.flag);
    const use = { top: at(layout.flag + layout.marks) - top, height: at(layout.use) };
    const tokensTop = layout.flag + layout.marks + layout.use + GAP;
    const tokens = { top: at(tokensTop) - top, height: at(layout.tokens) };
    const hits = { top: at(tokensTop + layout.tokens + GAP) - top, height: at(layout.hits) };
    this.size(context.canvas.width, hits.top + hits.height + Math.max(1, Math.round(ratio)));
    this.pixels.fill(0);
    this.place(scene, ratio);
    this.bands(buckets, palette, { top: 0, height: at(layout.marks - 2) }, ratio);
    this.stack(scene, use);
    this.columns(scene, tokens, ratio);
    this.rate(scene, hits, ratio);
    context.putImageData(this.image!, 0, top);
  }

  private size(width: number, height: number): void {
    if (this.image?.width === width && this.image.height === height) return;
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.width = width;
  }

  private place({ buckets, window, layout }: TimelineScene, ratio: number): void {
    const count = buckets.active.length;
    if (this.from.length !== count) [this.from, this.to] = [new Int32Array(count), new Int32Array(count)];
    const columnOf = (step: number): number =>
      Math.round(
        Math.max(layout.left, Math.min(layout.right, xOf(Math.min(step, window.to), window, layout))) * ratio,
      );
    for (let i = 0; i < count; i++) {
      this.from[i] = columnOf(buckets.from + i * buckets.per);
      this.to[i] = columnOf(buckets.from + (i + 1) * buckets.per);
    }
  }

  private fill(x0: number, x1: number, y0: number, y1: number, pixel: number): void {
    for (let y = Math.max(0, y0); y < y1; y++) {
      const start = y * this.width;
      for (let x = x0; x < x1; x++) this.pixels[start + x] = pixel;
    }
  }

  /** Evictions as a thin band, copies as ticks above it. */
  private bands({ evict, copy }: Buckets, palette: Palette, { top, height }: Lane, ratio: number): void {
    const bottom = top + height;
    let most = 1;
    for (const evicted of evict) if (evicted > most) most = evicted;
    const shared = pixelOf(palette['s-shared']);
    for (let i = 0; i < evict.length; i++) {
      const [x0, x1] = [this.from[i]!, Math.max(this.from[i]! + 1, this.to[i]!)];
      if (evict[i]! > 0) {
        const opacity = Math.round(255 * (0.35 + 0.65 * Math.sqrt(evict[i]! / most)));
        this.fill(x0, x1, bottom - Math.round(3 * ratio), bottom, pixelOf(palette.warn, opacity));
      }
      if (copy[i]! > 0) {
        const end = Math.min(Math.max(x1, x0 + 2), x0 + Math.round(3 * ratio));
        this.fill(x0, end, bottom - Math.round(8 * ratio), bottom - Math.round(4 * ratio), shared);
      }
    }
  }

  /** Usage: cached, shared and active blocks over one another. What is not known stays empty. */
  private stack({ buckets, palette, usable }: TimelineScene, { top, height }: Lane): void {
    const { active, shared, cached } = buckets;
    const colours = ['s-free', 's-cached', 's-shared', 's-active'].map((name) =>
      pixelOf(palette[name as 's-free']),
    );
    const scale = usable > 0 ? height / usable : 0;
    const row = (blocks: number): number =>
      Math.max(0, Math.min(height, Math.round(height - blocks * scale)));
    for (let i = 0; i < active.length; i++) {
      if (Number.isNaN(active[i]!)) continue;
      const held = active[i]! + shared[i]!;
      const ends = [row(held + cached[i]!), row(held), row(active[i]!), height];
      let from = 0;
      for (let part = 0; part < 4; part++) {
        this.fill(this.from[i]!, this.to[i]!, top + from, top + ends[part]!, colours[part]!);
        from = ends[part]!;
      }
    }
  }

  /** Tokens: decodes, and prefills over them. */
  private columns({ buckets, palette }: TimelineScene, { top, height }: Lane, ratio: number): void {
    const { prefill, decode } = buckets;
    const most = Math.max(1, buckets.maxTokens);
    const bottom = top + height;
    const [chunks, single] = [pixelOf(palette.prefill), pixelOf(palette.decode)];
    // A decode is a token a sequence and a prefill thousands: a root keeps both to be seen.
    const rows = (tokens: number): number =>
      tokens > 0 ? Math.max(Math.round(1.5 * ratio), Math.round(Math.sqrt(tokens / most) * height)) : 0;
    for (let i = 0; i < prefill.length; i++) {
      const x0 = this.from[i]!;
      const wide = this.to[i]! - x0;
      const x1 = x0 + Math.max(1, wide - (wide >= 4 * ratio ? Math.round(ratio) : 0));
      const [all, decoded] = [rows(prefill[i]! + decode[i]!), rows(decode[i]!)];
      if (prefill[i]! > 0) this.fill(x0, x1, bottom - all, bottom - decoded, chunks);
      this.fill(x0, x1, bottom - decoded, bottom, single);
    }
  }

  /**
   * The hit rate, from 0 to 1: of the requests that were admitted in each bucket. Where none was, a thin line leads on from the
   * last ones; where it is not recorded, there is none.
   */
  private rate({ buckets, layout, palette }: TimelineScene, { top, height }: Lane, ratio: number): void {
    const { queries, hits } = buckets;
    const bottom = top + height;
    const thin = Math.max(1, Math.round(ratio));
    const thick = Math.max(1, Math.round(1.5 * ratio));
    const [hair, ground, faint, line] = [
      pixelOf(palette.hair),
      pixelOf(palette['s-cached']),
      pixelOf(palette.faint),
      pixelOf(palette.text),
    ];
    const { left, right } = edgesOf(layout, ratio);
    this.fill(left, right, top, top + thin, hair);
    this.fill(left, right, bottom, bottom + thin, hair);
    let last: { x: number; y: number } | null = null;
    for (let i = 0; i < queries.length; i++) {
      const [x0, x1] = [this.from[i]!, this.to[i]!];
      if (x1 <= x0) continue;
      if (Number.isNaN(queries[i]!)) last = null;
      if (!(queries[i]! > 0)) continue;
      const y = bottom - Math.round((hits[i]! / queries[i]!) * height);
      this.fill(x0, x1, y, bottom, ground);
      if (last !== null) {
        this.fill(last.x, x0, last.y, last.y + thin, faint);
        this.fill(x0, x0 + thin, Math.min(last.y, y), Math.max(last.y, y), faint);
      }
      this.fill(x0, Math.max(x0 + thick, x1), y, y + thick, line);
      last = { x: x1, y };
    }
  }
}

function edgesOf({ left, right }: Layout, ratio: number): { left: number; right: number } {
  return { left: Math.round(left * ratio), right: Math.round(right * ratio) };
}
