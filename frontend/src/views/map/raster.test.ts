import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LARGE } from '../../ledger/kernels';
import { Picture } from '../../store/picture';
import { COLOURINGS, type Colouring } from '../../worker/shades';
import { PALETTES, rgb } from '../palette';
import { Camera } from './camera';
import { Colours, nameOf } from './colours';
import { Raster } from './raster';
import type { Scene } from './renderer';

const PALETTE = PALETTES.dark;

/** A pool in a frame: from cells with bars to several cells a pixel. */
const frames = fc.record({
  blocks: fc.integer({ min: 1, max: 700 }),
  width: fc.integer({ min: 3, max: 90 }),
  height: fc.integer({ min: 3, max: 70 }),
  zoom: fc.constantFrom(1, 1, 2.5, 9),
  colouring: fc.constantFrom(...COLOURINGS),
  seed: fc.integer(),
});

function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * sides);
  };
}

function wordOf(colouring: Colouring, roll: (sides: number) => number): number {
  const shade = colouring === 'state' ? 0 : roll(colouring === 'owner' ? 4096 : 8);
  return (roll(4) | (roll(128) << 12) | (shade << 20)) >>> 0;
}

function wordsOf(
  count: number,
  colouring: Colouring,
  roll: (sides: number) => number,
): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: count }, () => wordOf(colouring, roll));
}

function change({ picture, colours }: Scene, words: Uint32Array<ArrayBuffer>, glow: Uint32Array): void {
  const none = new Uint32Array(0);
  picture.apply(
    {
      full: words,
      blocks: none,
      words: none,
      glow,
      faint: none,
      jump: true,
      colouring: colours.colouring,
      arrangement: null,
    },
    true,
    false,
  );
}

function sceneOf(blocks: number, width: number, height: number, zoom: number, colouring: Colouring): Scene {
  const picture = new Picture();
  picture.reset(blocks);
  const camera = new Camera();
  camera.resize(width, height, blocks);
  if (zoom > 1) camera.zoom(zoom, width / 3, height / 2);
  return {
    picture,
    camera,
    palette: PALETTE,
    colours: new Colours(colouring, PALETTE, null, null),
    glow: 0.5,
  };
}

/** The block whose cell is at a place on the canvas, as a reader would say: -1 for none, and for what parts two cells. */
function blockAt({ camera, picture }: Scene, x: number, y: number): number {
  const { scale, gap, grid } = camera;
  const [right, down] = [x - camera.left, y - camera.top];
  const [column, row] = [Math.floor(right / scale), Math.floor(down / scale)];
  const isCell = column >= 0 && row >= 0 && column < grid.columns && row < grid.rows;
  // In pixels: as parts of a cell, a place at its very edge may be rounded to either side.
  const isGap = right - column * scale >= scale - gap || down - row * scale >= scale - gap;
  if (!isCell || isGap) return -1;
  const block = row * grid.columns + column;
  return block < picture.size ? block : -1;
}

const channels = (pixel: number): number[] => [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255];

test('without glow each pixel is of its block, of the ground, or the mean of the four cells in it', () => {
  fc.assert(
    fc.property(frames, ({ blocks, width, height, zoom, colouring, seed }) => {
      const scene = sceneOf(blocks, width, height, zoom, colouring);
      const roll = dice(seed);
      change(scene, wordsOf(blocks, colouring, roll), new Uint32Array(0));
      const raster = new Raster(width, height, blocks);
      raster.look(scene);
      raster.drawAll();
      const { scale } = scene.camera;
      const colour = (block: number): number[] =>
        rgb(PALETTE[block < 0 ? 'bg' : nameOf(colouring, scene.colours.place(scene.picture.words[block]!))]);
      for (let trial = 0; trial < 100; trial++) {
        const [x, y] = [roll(width), roll(height)];
        const places =
          scale >= 1
            ? [[0.5, 0.5]]
            : [0.25, 0.75].flatMap((down) => [0.25, 0.75].map((right) => [right, down]));
        const found = places.map(([right, down]) => blockAt(scene, x + right!, y + down!));
        // The bar at the foot of a large cell is lighter or darker.
        const foot = (y + 0.5 - scene.camera.top) % scale;
        if (
          scale >= 14 &&
          colouring === 'state' &&
          foot >= scale - scene.camera.gap - Math.max(2, Math.floor(scale * 0.1))
        )
          continue;
        const mean = [0, 1, 2].map((i) =>
          Math.round(found.reduce((sum, block) => sum + colour(block)[i]!, 0) / found.length),
        );
        expect(channels(raster.pixels[y * width + x]!)).toEqual(mean);
      }
    }),
  );
});

test('what is drawn block by block is what is drawn at once, with glow and bars', () => {
  fc.assert(
    fc.property(frames, ({ blocks, width, height, zoom, colouring, seed }) => {
      const scene = sceneOf(blocks, width, height, zoom, colouring);
      const roll = dice(seed);
      const { picture } = scene;
      const before = wordsOf(blocks, colouring, roll);
      change(
        scene,
        before.slice(),
        Uint32Array.from({ length: 4 }, () => roll(blocks)),
      );
      const [singly, atOnce] = [new Raster(width, height, blocks), new Raster(width, height, blocks)];
      singly.look(scene);
      singly.drawAll();
      const litBefore = [...picture.lit()];
      const after = before.map((word) => (roll(3) === 0 ? wordOf(colouring, roll) : word));
      change(
        scene,
        after,
        Uint32Array.from({ length: 4 }, () => roll(blocks)),
      );
      const differs = [...after.keys()].filter((block) => after[block] !== before[block]);
      for (const block of [...litBefore, ...picture.lit(), ...differs]) singly.draw(singly.rectOf(block));
      atOnce.look(scene);
      atOnce.drawAll();
      expect(Buffer.from(singly.pixels.buffer).equals(Buffer.from(atOnce.pixels.buffer))).toBe(true);
    }),
  );
});

test('cells of which many glow look as if each pixel were drawn for itself', () => {
  fc.assert(
    fc.property(frames, ({ blocks, width, height, zoom, colouring, seed }) => {
      const scene = sceneOf(blocks, width, height, zoom, colouring);
      const roll = dice(seed);
      const glow = Uint32Array.from({ length: blocks }, () => roll(blocks));
      change(scene, wordsOf(blocks, colouring, roll), glow);
      const [atOnce, singly] = [new Raster(width, height, blocks), new Raster(width, height, blocks)];
      for (const raster of [atOnce, singly]) raster.look(scene);
      atOnce.drawAll();
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) singly.draw({ left: x, top: y, right: x + 1, bottom: y + 1 });
      const apart = atOnce.pixels.findIndex((pixel, i) => pixel !== singly.pixels[i]);
      expect(apart).toBe(-1);
    }),
  );
});

test('a large pool that is drawn four cells at once looks as if each pixel were drawn for itself', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 40 }),
      fc.constantFrom(...COLOURINGS),
      fc.integer(),
      (more, colouring, seed) => {
        const [width, height] = [211 + more, 160];
        const blocks = LARGE + more;
        const scene = sceneOf(blocks, width, height, 1, colouring);
        const roll = dice(seed);
        change(
          scene,
          wordsOf(blocks, colouring, roll),
          Uint32Array.from({ length: 5 }, () => roll(blocks)),
        );
        const [fast, slow] = [new Raster(width, height, blocks), new Raster(width, height, blocks)];
        for (const raster of [fast, slow]) raster.look(scene);
        fast.drawAll();
        for (let y = 0; y < height; y++) slow.draw({ left: 0, top: y, right: width, bottom: y + 1 });
        const apart = fast.pixels.findIndex((pixel, i) => pixel !== slow.pixels[i]);
        expect(apart).toBe(-1);
      },
    ),
    { numRuns: 8 },
  );
});
