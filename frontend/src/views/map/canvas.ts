/** The memory map without WebGL2: an image of one pixel a block, drawn larger. */

import { rgb } from '../palette';
import { collect, type Pixels, type Renderer, type Scene } from './renderer';

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
    const { picture, camera, palette } = scene;
    const { columns, rows } = camera.grid;
    picture.takeDirty();
    if (this.small.width !== columns || this.small.height !== rows) {
      this.small.width = columns;
      this.small.height = rows;
    }
    const image = this.smallContext.createImageData(columns, rows);
    const { data } = image;
    const { texels } = picture;
    const fresh = rgb(palette['s-new']);
    for (let at = 0; at < 4 * picture.size; at += 4) {
      const glow = (texels[at + 3]! / 255) * scene.glow * 0.8;
      data[at] = texels[at]! + (fresh[0] - texels[at]!) * glow;
      data[at + 1] = texels[at + 1]! + (fresh[1] - texels[at + 1]!) * glow;
      data[at + 2] = texels[at + 2]! + (fresh[2] - texels[at + 2]!) * glow;
      data[at + 3] = 255;
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
    this.draw({ ...scene, glow: 0 });
    const { columns, rows } = scene.camera.grid;
    const { data } = this.smallContext.getImageData(0, 0, columns, rows);
    return collect(scene, (block) => Array.from(data.subarray(4 * block, 4 * block + 4)));
  }

  dispose(): void {}
}
