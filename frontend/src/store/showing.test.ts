import { beforeEach, expect, test, vi } from 'vitest';
import type { Part, Showing } from './showing';

interface Told {
  readonly step: number;
  readonly tables: number | null;
  readonly moved: boolean;
}

let asked: ((now: number) => void)[] = [];
let shown: string[] = [];
let showing: Showing<Told>;

const NAMES = ['picture', 'tables', 'lists', 'curves'];

function told(step: number, moved = false): Told {
  return { step, tables: step, moved };
}

/** All that is drawn in the next frame, and what follows it at once. */
async function frame(view: Told | null = null): Promise<string[]> {
  shown = [];
  const { beforeFrame } = await import('./frame');
  if (view !== null) beforeFrame(() => showing.show(view));
  for (const callback of asked.splice(0)) callback(performance.now());
  await Promise.resolve();
  return shown;
}

beforeEach(async () => {
  asked = [];
  vi.resetModules();
  vi.stubGlobal('requestAnimationFrame', (callback: (now: number) => void) => asked.push(callback));
  const { Showing } = await import('./showing');
  const parts = NAMES.map((name): Part<Told> => {
    return { has: () => true, show: ({ step }) => void shown.push(`${name} ${step}`) };
  });
  showing = new Showing<Told>(
    parts[0]!,
    parts.slice(1),
    (_, view) => view,
    (view) => view.moved,
  );
});

test('what is not known to be quick is shown a part a frame, each of the newest view', async () => {
  expect(await frame(told(1))).toEqual(['picture 1']);
  expect(await frame()).toEqual(['tables 1']);
  expect(await frame(told(2))).toEqual(['picture 2']);
  expect(await frame()).toEqual(['lists 2']);
  expect(await frame()).toEqual(['curves 2']);
  expect(await frame()).toEqual(['tables 2']);
  expect(await frame()).toEqual([]);
});

test('once parts are known to be quick, all of a view is shown in one frame', async () => {
  for (let step = 1; step <= 4; step++)
    for (let at = 0; at < 4; at++) await frame(at === 0 ? told(step) : null);
  expect(await frame(told(5))).toEqual(NAMES.map((name) => `${name} 5`));
});

test('what was told by a moment is shown in the end, however fast more comes', async () => {
  await frame(told(1));
  expect(showing.hasShownAll(1)).toBe(false);
  for (let step = 2; step <= 6; step++) await frame(told(step));
  expect(showing.hasShownAll(1)).toBe(true);
});

test('whoever moves the view has each picture at once, and what stands beside it after that', async () => {
  for (let step = 1; step <= 4; step++)
    for (let at = 0; at < 4; at++) await frame(at === 0 ? told(step) : null);
  expect(await frame(told(5, true))).toEqual(['picture 5']);
});
