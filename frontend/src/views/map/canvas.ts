/** The memory map without WebGL2: an image of one pixel a block, drawn larger. */

import { classOf } from '../../worker/word';
import { rgb, STATE_COLOURS } from '../palette';
import { collect, GLOW_MS, type Pixels, type Renderer, type Scene } from './renderer';

export class CanvasRenderer implements Renderer {
  readonly name = 'canvas2d';
  private readonly context: CanvasRenderingContext2D;
  private readonly small = document.createElement('canvas');
  private readonly smallContext: CanvasRenderingContext2D;

  constructor(readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false });
    const smallContext = this.small.getContext('2d', { willReadFrequently: true });
    if (context === null || smallContext === null) throw new Error('no canvas');
    this.context = context;
    this.smallContext = smallContext;
  }

  draw(scene: Scene): void {
    const { picture, camera, palette, now } = scene;
    const { columns, rows } = camera.grid;
    picture.takeDirtyRows(columns);
    if (this.small.width !== columns || this.small.height !== rows) {
      this.small.width = columns;
      this.small.height = rows;
    }
    const image = this.smallContext.createImageData(columns, rows);
    const states = STATE_COLOURS.map((name) => rgb(palette[name]));
    const fresh = rgb(palette['s-new']);
    for (let block = 0; block < picture.size; block++) {
      const base = states[classOf(picture.words[block]!)]!;
      const changed = picture.changed[block]!;
      const decayed = scene.glow ? Math.exp(-(now - (changed >>> 1)) / GLOW_MS) : 0;
      const glow = changed > 0 ? Math.max(decayed, scene.floor) * (changed % 2 === 1 ? 0.8 : 0.25) : 0;
      for (let part = 0; part < 3; part++) {
        image.data[4 * block + part] = base[part]! + (fresh[part]! - base[part]!) * glow;
      }
      image.data[4 * block + 3] = 255;
    }
    this.smallContext.putImageData(image, 0, 0);
    const { context, canvas } = this;
    context.fillStyle = palette.bg;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingEnabled = camera.scale < 1;
    context.drawImage(this.small, camera.left, camera.top, columns * camera.scale, rows * camera.scale);
    if (camera.gap === 0) return;
    for (let column = 1; column <= columns; column++) {
      const x = camera.left + column * camera.scale - camera.gap;
      context.fillRect(x, camera.top, camera.gap, rows * camera.scale);
    }
    for (let row = 1; row <= rows; row++) {
      const y = camera.top + row * camera.scale - camera.gap;
      context.fillRect(camera.left, y, columns * camera.scale, camera.gap);
    }
  }

  pixels(scene: Scene): Pixels {
    this.draw({ ...scene, glow: false, floor: 0 });
    const { columns, rows } = scene.camera.grid;
    const { data } = this.smallContext.getImageData(0, 0, columns, rows);
    return collect(scene, (block) => Array.from(data.subarray(4 * block, 4 * block + 4)));
  }

  dispose(): void {}
}
