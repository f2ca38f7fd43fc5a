/**
 * What belongs together on a map that is not in order of numbers: a line where one group ends and the next begins, and whose each is.
 *
 *     ■ ■ ■ ■ ■ ■╻r9■ ■        cells run on from row to row, so the line between two groups is a step,
 *     ━━━━━━━━━━━┛■ ■ ■        as far as the one lies above the other
 *     ■ ■ ■ ■ ■ ■ ■ ■ ■
 */

import type { Picture } from '../../store/picture';
import { text } from '../../text';
import { Whose } from '../../worker/order';
import { countOf } from '../../worker/word';
import { MONO } from '../fonts';
import type { Palette } from '../palette';
import type { Camera } from './camera';

/** CSS pixels: cells from here on have room for a name at their foot; between groups that are lower than this there is no line. */
const NAMED_FROM = 24;
const LEAST_HEIGHT = 6;
const FONT = 10;

/** Its cells: from one (included) to another (excluded). */
interface Group {
  readonly from: number;
  readonly to: number;
  readonly whose: number;
}

function groupAt({ groups, size }: Picture, i: number): Group {
  return { from: groups[2 * i]!, to: groups[2 * i + 2] ?? size, whose: groups[2 * i + 1]! };
}

export function drawGroups(
  context: CanvasRenderingContext2D,
  picture: Picture,
  camera: Camera,
  palette: Palette,
  ratio: number,
): void {
  const { grid, scale, top, height } = camera;
  const first = Math.floor(-top / scale) * grid.columns;
  const last = Math.ceil((height - top) / scale) * grid.columns;
  const isHigh = ({ from, to }: Group): boolean =>
    ((to - from) / grid.columns) * scale >= LEAST_HEIGHT * ratio;
  const names: Group[] = [];
  let before: Group | null = null;
  for (let i = 0; 2 * i < picture.groups.length; i++) {
    const group = groupAt(picture, i);
    if (group.to >= first && group.from <= last) {
      names.push(group);
      if (before !== null && (camera.gap > 0 || isHigh(before) || isHigh(group)))
        drawLine(context, camera, before, group, palette, ratio);
    }
    before = group;
  }
  for (const group of names) drawName(context, picture, camera, group, palette, ratio);
}

function drawLine(
  context: CanvasRenderingContext2D,
  camera: Camera,
  before: Group,
  { from, to }: Group,
  palette: Palette,
  ratio: number,
): void {
  const { columns } = camera.grid;
  const { scale } = camera;
  const wide = Math.max(camera.gap, Math.round(ratio));
  const { x, y } = camera.place(from);
  const rowEnd = from - (from % columns) + columns;
  context.fillStyle = palette.text;
  context.globalAlpha = 0.8;
  if (from % columns > 0) context.fillRect(x - wide, y - wide, wide, scale + wide);
  // Above its cells in its first row, and above those of the next one that lie left of its beginning.
  for (const [a, b] of [
    [Math.max(from, before.from + columns), Math.min(rowEnd, to)],
    [Math.max(rowEnd, before.from + columns), Math.min(from + columns, to)],
  ] as const) {
    if (a >= b) continue;
    const at = camera.place(a);
    context.fillRect(at.x - wide, at.y - wide, (b - a) * scale + wide, wide);
  }
  context.globalAlpha = 1;
}

function nameOf(whose: number): string {
  const { request, pinned, cached, free } = text.colouring.owners;
  if (whose === Whose.pinned) return pinned;
  return whose === Whose.cached ? cached : whose === Whose.free ? free : request(whose);
}

/** Whose it is, where there is room for it: at the foot of large cells, and on small ones where no count stands. */
function drawName(
  context: CanvasRenderingContext2D,
  { words }: Picture,
  camera: Camera,
  { from, to, whose }: Group,
  palette: Palette,
  ratio: number,
): void {
  const { columns } = camera.grid;
  const { scale } = camera;
  const size = Math.round(FONT * ratio);
  const inset = 2 * ratio;
  const isLarge = scale >= NAMED_FROM * ratio;
  const isRowLow = scale < size + 2 * inset;
  // On cells that are lower than a line, in the first row of those that are the group's from their beginning.
  let cell = isRowLow ? Math.ceil(from / columns) * columns : from;
  const end = Math.min(to, (Math.floor(cell / columns) + 1) * columns);
  if (isRowLow && Math.floor((to - cell) / columns) * scale < size + 2 * inset) return;
  if (!isLarge && !isRowLow) while (cell < end && countOf(words[cell]!) > 1) cell++;
  const name = nameOf(whose);
  context.font = `600 ${size}px ${MONO}`;
  const width = context.measureText(name).width;
  if (width + 2 * inset > (end - cell) * scale - camera.gap) return;
  const { x, y } = camera.place(cell);
  const height = size + inset;
  const bottom = isLarge ? y + scale - camera.gap - Math.max(2, Math.floor(scale * 0.1)) : y + inset + height;
  context.fillStyle = palette.bg;
  context.globalAlpha = 0.78;
  context.fillRect(x, bottom - height, width + 2 * inset, height);
  context.globalAlpha = 1;
  context.fillStyle = palette.text;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.fillText(name, x + inset, bottom - height / 2);
}
