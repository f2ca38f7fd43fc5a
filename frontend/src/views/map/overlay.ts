/** What lies over the map: ref counts in large cells, and the outlines of what is selected, hovered and next to go. */

import type { Picture } from '../../store/picture';
import { type Rectangle, rowsOf } from '../../worker/rectangle';
import { countOf } from '../../worker/word';
import { MONO } from '../fonts';
import type { Camera } from './camera';
import type { Colours } from './colours';
import { drawGroups } from './groups';

export interface Marks {
  readonly selected: number | null;
  readonly hovered: number | null;
  /** The head of the free queue. */
  readonly next: number | null;
  /** The blocks of the selected sequence or request. */
  readonly marked: Uint32Array | null;
  /** The blocks of the sequence that the pointer is over. */
  readonly pointed: readonly number[] | null;
  readonly rectangle: Rectangle | null;
}

/** Cells below these sizes (CSS pixels) bear no count and no number. */
const COUNT_FROM = 15;
const NUMBER_FROM = 40;
/** More outlines than this are a wash, not marks. */
const MOST_MARKS = 4000;

export function drawOverlay(
  context: CanvasRenderingContext2D,
  picture: Picture,
  camera: Camera,
  colours: Colours,
  marks: Marks,
  ratio: number,
): void {
  const { canvas } = context;
  const { palette } = colours;
  context.clearRect(0, 0, canvas.width, canvas.height);
  const css = camera.scale / ratio;
  if (css >= COUNT_FROM) drawLabels(context, picture, camera, colours, ratio, css);
  drawGroups(context, picture, camera, palette, ratio);
  const outline = (block: number, colour: string, width: number, outset: number): void => {
    if (block >= picture.size) return;
    const { x, y } = camera.place(picture.cellOf(block));
    const size = Math.max(camera.scale - camera.gap, 1) + 2 * outset;
    if (x + size < 0 || y + size < 0 || x > canvas.width || y > canvas.height) return;
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.strokeRect(x - outset, y - outset, size, size);
  };
  const line = Math.max(1, Math.round(ratio));
  const set = marks.pointed ?? marks.marked;
  if (set !== null && set.length <= MOST_MARKS) {
    for (const block of set) outline(block, palette.accent, line, camera.gap > 1 ? line / 2 : 0);
  }
  if (marks.rectangle !== null) drawRectangle(context, picture.size, camera, colours, marks.rectangle, line);
  if (marks.next !== null) outline(marks.next, palette.warn, line, line / 2);
  if (marks.hovered !== null) outline(marks.hovered, palette.text, line, line);
  if (marks.selected !== null) {
    const least = Math.max(0, (7 * ratio - camera.scale) / 2);
    outline(marks.selected, palette.bg, 4 * line, 2 * line + least);
    outline(marks.selected, palette.accent, 2 * line, line + least);
  }
}

/** A wash over its blocks, and a frame where the grid is the one that it was marked in: elsewhere they are not a rectangle. */
function drawRectangle(
  context: CanvasRenderingContext2D,
  numBlocks: number,
  camera: Camera,
  { palette }: Colours,
  rectangle: Rectangle,
  line: number,
): void {
  const { columns } = camera.grid;
  const { scale } = camera;
  const rows = rowsOf(rectangle, numBlocks);
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.16;
  for (const { from, to } of rows) {
    for (let at = from; at < to; ) {
      const end = Math.min(to, (Math.floor(at / columns) + 1) * columns);
      const { x, y } = camera.place(at);
      context.fillRect(x, y, (end - at) * scale, scale);
      at = end;
    }
  }
  context.globalAlpha = 1;
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined || rectangle.columns !== columns) return;
  const { x, y } = camera.place(first.from);
  const width = (first.to - first.from) * scale - camera.gap;
  const height = rows.length * scale - camera.gap;
  for (const [colour, wide] of [
    [palette.bg, 4 * line],
    [palette.accent, 2 * line],
  ] as const) {
    context.lineWidth = wide;
    context.strokeStyle = colour;
    context.strokeRect(x - line, y - line, width + 2 * line, height + 2 * line);
  }
}

/** What can be read on the colour of a block. */
function inkOn(colours: Colours, word: number): string {
  const { palette } = colours;
  const place = colours.place(word);
  if (colours.dim[place] === 1) return palette.faint;
  if (colours.isState)
    return [palette.faint, palette['chip-cached-text'], palette['on-active'], palette['on-shared']][place]!;
  const pixel = colours.pixels[place]!;
  // What is as light as this to the eye has as much contrast to black as to white.
  const isLight =
    0.2126 * (pixel & 255) + 0.7152 * ((pixel >>> 8) & 255) + 0.0722 * ((pixel >>> 16) & 255) > 117;
  return isLight ? '#000000' : '#ffffff';
}

function drawLabels(
  context: CanvasRenderingContext2D,
  picture: Picture,
  camera: Camera,
  colours: Colours,
  ratio: number,
  css: number,
): void {
  const { columns } = camera.grid;
  const fromColumn = Math.max(0, Math.floor(-camera.left / camera.scale));
  const toColumn = Math.min(columns, Math.ceil((camera.width - camera.left) / camera.scale));
  const fromRow = Math.max(0, Math.floor(-camera.top / camera.scale));
  const toRow = Math.min(camera.grid.rows, Math.ceil((camera.height - camera.top) / camera.scale));
  const size = Math.round(Math.min(13, css * 0.46) * ratio);
  const numbers = css >= NUMBER_FROM;
  context.textBaseline = 'top';
  const inset = Math.round(Math.min(7, Math.max(2, css * 0.12)) * ratio);
  const counts = `600 ${size}px ${MONO}`;
  const small = `${Math.round(Math.min(11, css * 0.24) * ratio)}px ${MONO}`;
  for (let row = fromRow; row < toRow; row++) {
    for (let column = fromColumn; column < toColumn; column++) {
      const cell = row * columns + column;
      if (cell >= picture.size) return;
      const word = picture.words[cell]!;
      const count = countOf(word);
      if (count < 2 && !numbers) continue;
      const x = camera.left + column * camera.scale + inset;
      const y = camera.top + row * camera.scale + inset;
      context.fillStyle = inkOn(colours, word);
      if (count > 1) {
        context.font = counts;
        context.fillText(count > 1022 ? '…' : String(count), x, y);
      }
      if (numbers) {
        context.font = small;
        context.globalAlpha = 0.75;
        context.textAlign = 'right';
        const right = camera.left + (column + 1) * camera.scale - camera.gap - inset;
        context.fillText(String(picture.blockAt(cell)), right, y);
        context.textAlign = 'left';
        context.globalAlpha = 1;
      }
    }
  }
}
