import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Camera, chooseGrid } from './camera';

const frames = fc.record({
  count: fc.integer({ min: 1, max: 1_000_000 }),
  width: fc.integer({ min: 50, max: 4000 }),
  height: fc.integer({ min: 50, max: 2500 }),
});

test('the grid holds every block and fits the frame', () => {
  fc.assert(
    fc.property(frames, ({ count, width, height }) => {
      const grid = chooseGrid(count, width, height);
      expect(grid.columns * grid.rows).toBeGreaterThanOrEqual(count);
      const camera = new Camera();
      camera.resize(width, height, count);
      expect(camera.scale * camera.grid.columns).toBeLessThanOrEqual(width + 1e-6);
      expect(camera.scale * camera.grid.rows).toBeLessThanOrEqual(height + 1e-6);
    }),
  );
});

test('a block is picked where it is placed, at any zoom', () => {
  fc.assert(
    fc.property(
      frames,
      fc.nat(),
      fc.array(fc.nat(), { maxLength: 8 }),
      ({ count, width, height }, at, moves) => {
        const camera = new Camera();
        camera.resize(width, height, count);
        for (const move of moves) {
          camera.zoom(move % 3 === 0 ? 0.8 : 1.25, move % width, move % height);
          camera.pan((move % 31) - 15, (move % 17) - 8);
        }
        const block = at % count;
        const { x, y } = camera.place(block);
        expect(camera.pick(x + camera.scale / 2, y + camera.scale / 2)).toBe(block);
      },
    ),
  );
});

test('a zoomed map never leaves the frame, and zooming out ends with the whole pool', () => {
  const camera = new Camera();
  camera.resize(900, 500, 4096);
  const whole = { scale: camera.scale, left: camera.left, top: camera.top };
  for (let i = 0; i < 20; i++) camera.zoom(1.25, 450, 250);
  expect(camera.fitted).toBe(false);
  camera.pan(1e6, 1e6);
  expect(camera.left).toBeLessThanOrEqual(0);
  for (let i = 0; i < 60; i++) camera.zoom(0.8, 10, 10);
  expect({ scale: camera.scale, left: camera.left, top: camera.top }).toEqual(whole);
  expect(camera.fitted).toBe(true);
});

test('512 blocks in a wide frame are large enough to read', () => {
  const camera = new Camera();
  camera.resize(930, 500, 512);
  expect(camera.scale).toBeGreaterThanOrEqual(28);
});

test('a block that is brought into view lies in the frame, and can be read', () => {
  fc.assert(
    fc.property(frames, fc.nat(), ({ count, width, height }, at) => {
      const camera = new Camera();
      camera.resize(width, height, count);
      const block = at % count;
      camera.show(block);
      const { x, y } = camera.place(block);
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
      expect(x + camera.scale).toBeLessThanOrEqual(width + 0.5);
      expect(y + camera.scale).toBeLessThanOrEqual(height + 0.5);
      expect(camera.scale).toBeGreaterThanOrEqual(Math.min(32, width / 4, height / 4, camera.scale + 1));
    }),
  );
});
