/**
 * Draws the memory map without a GPU: its pixels are made by the page and put on a plain canvas.
 *
 * WebGL in software takes ten times as long: each pixel goes through a program that a CPU plays a GPU for, is read back, and
 * is drawn once more, upside down, by the browser's compositor.
 */

import { Camera } from './camera';
import type { Colours } from './colours';
import { Raster, type Rect } from './raster';
import { collect, type Pixels, type Renderer, type Scene } from './renderer';

export class CanvasRenderer implements Renderer {
  readonly name = 'canvas2d';
  private readonly context: CanvasRenderingContext2D;
  private raster = new Raster(0, 0, 0);
  private image: ImageData | null = null;
  /** Where and how the last drawing was made; one that differs is made anew. */
  private drawn = '';
  private colours: Colours | null = null;

  constructor(readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false });
    if (context === null) throw new Error('no canvas');
    this.context = context;
  }

  draw(scene: Scene): void {
    const { canvas } = this;
    const { width, height } = canvas;
    const { camera, picture, palette, colours } = scene;
    const blocks = picture.takeDirty();
    const { raster } = this;
    const fits = raster.width === width && raster.height === height && raster.size === picture.size;
    if (this.image === null || !fits) {
      this.raster = new Raster(width, height, picture.size);
      this.image = imageOf(this.raster);
    }
    const look = [camera.left, camera.top, camera.scale, camera.grid.columns, width, height, picture.size];
    const drawn = [...look, palette.bg, scene.glow].join();
    const isOther = drawn !== this.drawn || colours !== this.colours;
    if (isOther) this.raster.look(scene);
    this.drawn = drawn;
    this.colours = colours;
    if (isOther || blocks === null || this.raster.isMany(blocks.length)) {
      this.raster.drawAll();
      this.context.putImageData(this.image, 0, 0);
    } else this.drawSingly(blocks, this.image);
  }

  private drawSingly(blocks: Uint32Array, image: ImageData): void {
    const { raster } = this;
    let changed: Rect | null = null;
    for (let i = 0; i < blocks.length; i++) {
      const rect = raster.rectOf(blocks[i]!);
      if (rect.left >= rect.right || rect.top >= rect.bottom) continue;
      raster.draw(rect);
      changed = changed === null ? rect : around(changed, rect);
    }
    if (changed === null) return;
    const { left, top, right, bottom } = changed;
    this.context.putImageData(image, 0, 0, left, top, right - left, bottom - top);
  }

  /**
   * Draw without glow and read back the pixel at the centre of each block in the frame. Where blocks are smaller than
   * three pixels, one pixel a block is drawn on a canvas of its own, and all blocks are read.
   */
  pixels(scene: Scene): Pixels {
    const still: Scene = { ...scene, glow: 0 };
    const { camera, picture } = scene;
    if (camera.scale >= 3) {
      this.draw(still);
      const { width, height } = this.canvas;
      const { data } = this.context.getImageData(0, 0, width, height);
      return collect(scene, (block) => {
        const { x, y } = camera.place(block);
        const px = Math.floor(x + (camera.scale - camera.gap) / 2);
        const py = Math.floor(y + (camera.scale - camera.gap) / 2);
        if (px < 0 || py < 0 || px >= width || py >= height) return null;
        const at = 4 * (py * width + px);
        return Array.from(data.subarray(at, at + 4));
      });
    }
    const { columns, rows } = camera.grid;
    const single = new Camera();
    single.grid = camera.grid;
    single.count = picture.size;
    const raster = new Raster(columns, rows, picture.size);
    raster.look({ ...still, camera: single });
    raster.drawAll();
    const context = new OffscreenCanvas(columns, rows).getContext('2d')!;
    context.putImageData(imageOf(raster), 0, 0);
    const { data } = context.getImageData(0, 0, columns, rows);
    return collect(scene, (block) => Array.from(data.subarray(4 * block, 4 * block + 4)));
  }

  dispose(): void {}
}

function imageOf({ pixels, width, height }: Raster): ImageData {
  return new ImageData(
    new Uint8ClampedArray(pixels.buffer, pixels.byteOffset, pixels.byteLength),
    width,
    height,
  );
}

function around(a: Rect, b: Rect): Rect {
  return {
    left: Math.min(a.left, b.left),
    top: Math.min(a.top, b.top),
    right: Math.max(a.right, b.right),
    bottom: Math.max(a.bottom, b.bottom),
  };
}
