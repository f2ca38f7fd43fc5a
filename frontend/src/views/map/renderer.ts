/** What draws the memory map, and what it draws: by the GPU where there is one (`webgl.ts`), else by the CPU (`canvas.ts`). */

import type { Picture } from '../../store/picture';
import type { Palette } from '../palette';
import type { Camera } from './camera';
import type { Colours } from './colours';

/** What the map looks like at one moment. */
export interface Scene {
  readonly picture: Picture;
  readonly camera: Camera;
  readonly palette: Palette;
  /** Of the picture's words. */
  readonly colours: Colours;
  /** How much of the glow is shown: 1, or 0 for a test. */
  readonly glow: number;
}

export interface Pixels {
  /** The blocks that lie in the frame. */
  readonly blocks: number[];
  /** RGBA at the centre of each. */
  readonly rgba: number[][];
  /** The palette's colour for the state, or the shade, of each. */
  readonly expected: number[][];
}

export interface Renderer {
  readonly name: 'webgl2' | 'canvas2d';
  draw(scene: Scene): void;
  pixels(scene: Scene): Pixels;
  dispose(): void;
}

/** Device pixels of the bar at the foot of a cell: how full it is shows where cells are large, and their colours are of states. */
export function barOf({ camera, colours }: Scene): number {
  return camera.scale >= 14 && colours.isState ? Math.max(2, Math.floor(camera.scale * 0.1)) : 0;
}

/** The pixel and the expected colour of each block whose cell has a pixel. */
export function collect(scene: Scene, pixel: (cell: number) => number[] | null): Pixels {
  const { picture, colours } = scene;
  const pixels: Pixels = { blocks: [], rgba: [], expected: [] };
  for (let cell = 0; cell < picture.size; cell++) {
    const found = pixel(cell);
    if (found === null) continue;
    pixels.blocks.push(picture.blockAt(cell));
    pixels.rgba.push(found);
    const due = colours.pixels[colours.place(picture.words[cell]!)]!;
    pixels.expected.push([due & 255, (due >>> 8) & 255, (due >>> 16) & 255, 255]);
  }
  return pixels;
}
