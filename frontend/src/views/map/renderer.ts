/** What draws the memory map, and what it draws: by the GPU where there is one (`webgl.ts`), else by the CPU (`canvas.ts`). */

import type { Picture } from '../../store/picture';
import { classOf } from '../../worker/word';
import { type Palette, rgb, STATE_COLOURS } from '../palette';
import type { Camera } from './camera';

/** What the map looks like at one moment. */
export interface Scene {
  readonly picture: Picture;
  readonly camera: Camera;
  readonly palette: Palette;
  /** How much of the glow is shown: 1, or 0 for a test. */
  readonly glow: number;
}

export interface Pixels {
  /** The blocks that lie in the frame. */
  readonly blocks: number[];
  /** RGBA at the centre of each. */
  readonly rgba: number[][];
  /** The palette's colour for the state of each. */
  readonly expected: number[][];
}

export interface Renderer {
  readonly name: 'webgl2' | 'canvas2d';
  draw(scene: Scene): void;
  pixels(scene: Scene): Pixels;
  dispose(): void;
}

/** The pixel and the expected colour of each block that has a pixel. */
export function collect(scene: Scene, pixel: (block: number) => number[] | null): Pixels {
  const { picture, palette } = scene;
  const colours = STATE_COLOURS.map((name) => [...rgb(palette[name]), 255]);
  const pixels: Pixels = { blocks: [], rgba: [], expected: [] };
  for (let block = 0; block < picture.size; block++) {
    const found = pixel(block);
    if (found === null) continue;
    pixels.blocks.push(block);
    pixels.rgba.push(found);
    pixels.expected.push(colours[classOf(picture.words[block]!)]!);
  }
  return pixels;
}
