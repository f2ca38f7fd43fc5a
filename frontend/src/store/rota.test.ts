import { expect, test } from 'vitest';
import { Rota } from './rota';

const PARTS = ['tables', 'lists', 'curves'];

/** A rota of a page on which the picture and each part were seen to take so long. */
function rotaOf(picture: number, ...parts: readonly number[]): Rota<string> {
  const rota = new Rota<string>();
  for (let time = 0; time < 4; time++) {
    rota.tell(['picture'], picture);
    parts.forEach((ms, i) => {
      rota.tell([PARTS[i]!], ms);
    });
  }
  rota.offer(PARTS);
  return rota;
}

test('on a quick page all is shown in the frame of the picture', () => {
  expect(rotaOf(1, 1, 1, 1).take('picture')).toEqual(PARTS);
});

test('as much is shown in a frame as has room in it', () => {
  const rota = rotaOf(3, 2, 2, 2);
  expect(rota.take('picture')).toEqual([]);
  expect(rota.take(null)).toEqual(['tables', 'lists']);
  expect(rota.take(null)).toEqual(['curves']);
  expect(rota.isEmpty).toBe(true);
});

test('what takes long has a frame for itself, and so has what is not known yet', () => {
  for (const rota of [rotaOf(9, 9, 9, 9), rotaOf(9)]) {
    expect(rota.take('picture')).toEqual([]);
    expect(PARTS.map(() => rota.take(null))).toEqual(PARTS.map((part) => [part]));
  }
});

test('a part gives way to a picture once', () => {
  const rota = rotaOf(9, 9, 9, 9);
  const frames = Array.from({ length: 6 }, () => {
    rota.offer(PARTS);
    return rota.take('picture');
  });
  expect(frames).toEqual([[], ['tables'], [], ['lists'], [], ['curves']]);
});

test('a part that waits keeps its turn when the next view comes', () => {
  const rota = rotaOf(9, 9, 9, 9);
  rota.take(null);
  rota.offer(PARTS);
  expect([rota.take(null), rota.take(null), rota.take(null)]).toEqual([['lists'], ['curves'], ['tables']]);
});

test('the shortest of the last four times tells what a part takes', () => {
  const rota = rotaOf(1, 1, 1, 1);
  for (const ms of [9, 9, 9]) rota.tell(['tables'], ms);
  expect(rota.take('picture')).toEqual(PARTS);
  rota.tell(['tables'], 9);
  rota.offer(PARTS);
  expect(rota.take('picture')).toEqual([]);
});

test('of what is shown together each takes its share of the time', () => {
  const rota = rotaOf(1, 1, 1, 1);
  for (let time = 0; time < 4; time++) rota.tell(['picture', ...PARTS], 8);
  expect(rota.take('picture')).toEqual(['tables']);
  expect(rota.take(null)).toEqual(['lists', 'curves']);
});
