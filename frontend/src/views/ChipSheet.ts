/**
 * Chips, drawn on one canvas: they change with every step of a drag, and as elements of the document they were half of what a
 * frame of it took. Everything is in whole device pixels, so it is as sharp as the page's own text.
 *
 *     ┌────────┐ ┌──────²┐ ┌───────◥  a block, a shared one with its ref count, one that a copy on write made
 *     │  4711  │ │12     │ │  15   │
 *     └━━━━────┘ └━━━━━━━┘ └━──────┘  how full it is
 */

import { NONE } from '../ledger/generated/constants';
import { pixelRatio, pointIn, zoom } from '../store/scale';
import { text } from '../text';
import type { CopyMade } from '../worker/operation';
import { countOf, filledOf, type WordOf } from '../worker/word';
import { CHIP_KINDS, type ChipGrounds, type ChipKind, chipGrounds } from './chipGrounds';
import { CHIP_GAP, CHIP_HEIGHT, CHIP_LINE, placeOf, type Slot, slotAt } from './chips';
import type { Palette } from './palette';

/** The chips of one table, and where they are. */
export interface ChipTable {
  readonly slots: readonly Slot[];
  /** Of the first chip, from the canvas's corner; CSS pixels. */
  readonly left: number;
  readonly top: number;
  readonly perLine: number;
  /** Positions whose block was made by a copy on write. */
  readonly copies: readonly number[];
}

export interface ChipMarks {
  /** CSS pixels of a chip, with the gap after it. */
  readonly chip: number;
  readonly wordOf: WordOf;
  /** Those that light up wherever they are shown. */
  readonly hot: ReadonlySet<number>;
  /** Copies on write of the present step: the source is framed with dashes, the target whole. */
  readonly present: readonly CopyMade[];
  readonly palette: Palette;
}

/** A chip that is drawn, by its middle in the window. */
export interface ShownChip {
  readonly block: number;
  readonly shared: boolean;
  readonly x: number;
  readonly y: number;
}

/** All that are in the document. */
const sheets = new Set<ChipSheet>();

/** For tests: the chips whose middle is in an element. */
export function chipsIn(element: Element): ShownChip[] {
  const box = element.getBoundingClientRect();
  const isIn = ({ x, y }: ShownChip): boolean =>
    x >= box.left && x < box.right && y >= box.top && y < box.bottom;
  return [...sheets].flatMap((sheet) => sheet.shown()).filter(isIn);
}

export class ChipSheet {
  private readonly context: CanvasRenderingContext2D;
  private tables: readonly ChipTable[] = [];
  private marks: ChipMarks | null = null;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d')!;
    sheets.add(this);
  }

  close(): void {
    sheets.delete(this);
  }

  /** Draw these, and nothing else, on a canvas of so many CSS pixels. */
  draw(tables: readonly ChipTable[], marks: ChipMarks, width: number, height: number): void {
    this.tables = tables;
    this.marks = marks;
    const { canvas, context } = this;
    const ratio = pixelRatio();
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = `${w / ratio}px`;
      canvas.style.height = `${h / ratio}px`;
    } else context.clearRect(0, 0, w, h);
    const grounds = chipGrounds(marks.chip - CHIP_GAP, ratio, marks.palette);
    context.textBaseline = 'alphabetic';
    context.textAlign = 'left';
    context.font = grounds.font;
    const counts: { x: number; y: number; count: string }[] = [];
    for (const table of tables) {
      table.slots.forEach((slot, i) => {
        const { column, line } = placeOf(table.slots, i, table.perLine);
        const top = table.top + line * CHIP_LINE;
        if (top + CHIP_HEIGHT < 0 || top > height) return;
        const x = Math.round((table.left + column * marks.chip) * ratio);
        const y = Math.round(top * ratio);
        const count = this.slot(slot, x, y, table, marks, grounds, ratio);
        if (count > 1) counts.push({ x, y, count: String(count) });
      });
    }
    context.font = grounds.small;
    context.fillStyle = marks.palette['s-shared'];
    for (const { x, y, count } of counts) {
      const left = x + grounds.width - 2 * ratio - count.length * grounds.smallDigit;
      context.fillText(count, Math.round(left), y + Math.round(7.5 * ratio));
    }
  }

  /** Draw what is at a place, in device pixels; returns a ref count that is to stand in its corner. */
  private slot(
    slot: Slot,
    x: number,
    y: number,
    { copies }: ChipTable,
    { wordOf, hot, present, palette, chip }: ChipMarks,
    grounds: ChipGrounds,
    ratio: number,
  ): number {
    const { context } = this;
    const { width, height, digit } = grounds;
    const base = y + Math.round(12.5 * ratio);
    const middle = (label: string, room: number): void =>
      context.fillText(label, Math.round(x + (room - label.length * digit) / 2), base);
    if ('more' in slot) {
      context.fillStyle = palette.faint;
      middle(`… ${text.tables.more(slot.more)}`, width + chip * ratio);
      return 0;
    }
    const { block, position } = slot;
    if (block === NONE) {
      context.fillStyle = palette.faint;
      middle('·', width);
      return 0;
    }
    const word = wordOf(block);
    const count = countOf(word);
    const kind: ChipKind = copies.includes(position) ? 'copy' : count > 1 ? 'shared' : 'active';
    const ground = 2 * CHIP_KINDS.indexOf(kind) * height;
    const filled = Math.round(filledOf(word) * width);
    const { image } = grounds;
    if (filled > 0) context.drawImage(image, 0, ground + height, filled, height, x, y, filled, height);
    if (filled < width) {
      const rest = width - filled;
      context.drawImage(image, filled, ground, rest, height, x + filled, y, rest, height);
    }
    context.fillStyle = palette[`chip-${kind}-text`];
    const label = String(block);
    if (count > 1) context.fillText(label, x + Math.round(3 * ratio), base);
    else middle(label, width);
    const isTarget = present.some(({ target }) => target === block);
    if (hot.has(block)) this.frame(x, y, grounds, ratio, palette.accent, []);
    else if (isTarget) this.frame(x, y, grounds, ratio, palette['chip-copy-text'], []);
    else if (present.some(({ source }) => source === block))
      this.frame(x, y, grounds, ratio, palette['chip-copy-text'], [3 * ratio, 2 * ratio]);
    return count;
  }

  private frame(
    x: number,
    y: number,
    { width, height }: ChipGrounds,
    ratio: number,
    colour: string,
    dashes: number[],
  ): void {
    const { context } = this;
    const line = Math.max(1, Math.round(1.5 * ratio));
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.setLineDash(dashes);
    context.beginPath();
    context.roundRect(x + line / 2, y + line / 2, width - line, height - line, 2.5 * ratio);
    context.stroke();
  }

  /** What is under a pointer; null: no chip. */
  at(event: MouseEvent): Slot | null {
    const { x, y } = pointIn(this.canvas, event);
    for (const { slots, left, top, perLine } of this.tables) {
      const found = slotAt(slots, x - left, y - top, perLine, this.marks?.chip ?? 1);
      if (found !== null) return found;
    }
    return null;
  }

  /** Every block that is drawn. */
  shown(): ShownChip[] {
    const { marks, canvas } = this;
    if (marks === null) return [];
    const box = canvas.getBoundingClientRect();
    return this.tables.flatMap(({ slots, left, top, perLine }) =>
      slots.flatMap((slot, i): ShownChip[] => {
        if ('more' in slot || slot.block === NONE) return [];
        const { column, line } = placeOf(slots, i, perLine);
        const x = left + column * marks.chip + (marks.chip - CHIP_GAP) / 2;
        const y = top + line * CHIP_LINE + CHIP_HEIGHT / 2;
        const shared = countOf(marks.wordOf(slot.block)) > 1;
        return [{ block: slot.block, shared, x: box.left + x * zoom, y: box.top + y * zoom }];
      }),
    );
  }
}
