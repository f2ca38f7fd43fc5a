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
import { type ChipGrounds, chipGrounds } from './chipGrounds';
import { ChipPixels, type Look } from './chipPixels';
import { CHIP_GAP, CHIP_HEIGHT, CHIP_LINE, placesOf, type Slot, slotAt } from './chips';
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

/** Wider than any canvas. */
const MOST_WIDTH = 65_536;

/** All that are in the document. */
const sheets = new Set<ChipSheet>();

/** For tests: the chips whose middle is in an element. */
export function chipsIn(element: Element): ShownChip[] {
  const box = element.getBoundingClientRect();
  const isIn = ({ x, y }: ShownChip): boolean =>
    x >= box.left && x < box.right && y >= box.top && y < box.bottom;
  return [...sheets].flatMap((sheet) => sheet.shown()).filter(isIn);
}

function isSame(a: Look, b: Look): boolean {
  return (
    a.label === b.label &&
    a.kind === b.kind &&
    a.filled === b.filled &&
    a.count === b.count &&
    a.framed === b.framed &&
    a.width === b.width
  );
}

/** Only chips that look otherwise than they did are drawn: of a hundred a step fills some five further. */
export class ChipSheet {
  private readonly context: CanvasRenderingContext2D;
  private pixels = new ChipPixels(1, 1);
  /** What is on the canvas. */
  private looks = new Map<number, Look>();
  /** For which size and colours. */
  private drawn = '';
  private tables: readonly ChipTable[] = [];
  private marks: ChipMarks | null = null;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d')!;
    sheets.add(this);
  }

  close(): void {
    sheets.delete(this);
  }

  /** Show these, and nothing else, on a canvas of so many CSS pixels. */
  draw(tables: readonly ChipTable[], marks: ChipMarks, width: number, height: number): void {
    this.tables = tables;
    this.marks = marks;
    const { canvas } = this;
    const ratio = pixelRatio();
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    const grounds = chipGrounds(marks.chip - CHIP_GAP, ratio, marks.palette);
    const drawn = [w, h, ratio, marks.chip, marks.palette.bg].join();
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.looks = new Map();
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = `${w / ratio}px`;
      canvas.style.height = `${h / ratio}px`;
      this.pixels = new ChipPixels(w, h);
    }
    const before = this.looks;
    const looks = looksOf(tables, marks, grounds, ratio, height);
    this.looks = looks;
    const changed = othersThan(before, looks);
    const gone = othersThan(looks, before);
    for (const { x, y, width: wide } of gone) this.pixels.clear(x, y, wide, grounds.height);
    for (const look of changed) this.pixels.draw(look, grounds, marks.palette);
    this.pixels.show(this.context);
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
      placesOf(slots, perLine).flatMap(({ column, line }, i): ShownChip[] => {
        const slot = slots[i]!;
        if ('more' in slot || slot.block === NONE) return [];
        const x = left + column * marks.chip + (marks.chip - CHIP_GAP) / 2;
        const y = top + line * CHIP_LINE + CHIP_HEIGHT / 2;
        const shared = countOf(marks.wordOf(slot.block)) > 1;
        return [{ block: slot.block, shared, x: box.left + x * zoom, y: box.top + y * zoom }];
      }),
    );
  }
}

/** Those that are not in `some`, or look otherwise there. */
function othersThan(some: ReadonlyMap<number, Look>, looks: ReadonlyMap<number, Look>): Look[] {
  const others: Look[] = [];
  for (const [place, look] of looks) {
    const own = some.get(place);
    if (own === undefined || !isSame(own, look)) others.push(look);
  }
  return others;
}

/** What is to be seen, by its place: a number of its own for each corner. */
function looksOf(
  tables: readonly ChipTable[],
  marks: ChipMarks,
  grounds: ChipGrounds,
  ratio: number,
  height: number,
): Map<number, Look> {
  const looks = new Map<number, Look>();
  for (const table of tables) {
    placesOf(table.slots, table.perLine).forEach(({ column, line }, i) => {
      const top = table.top + line * CHIP_LINE;
      if (top + CHIP_HEIGHT < 0 || top > height) return;
      const x = Math.round((table.left + column * marks.chip) * ratio);
      const y = Math.round(top * ratio);
      looks.set(y * MOST_WIDTH + x, lookOf(table.slots[i]!, x, y, table, marks, grounds, ratio));
    });
  }
  return looks;
}

/** What is at a place, in device pixels. */
function lookOf(
  slot: Slot,
  x: number,
  y: number,
  { copies }: ChipTable,
  { wordOf, hot, present, chip }: ChipMarks,
  { width }: ChipGrounds,
  ratio: number,
): Look {
  const bare = { x, y, kind: null, filled: 0, count: 0, framed: null };
  if ('more' in slot) {
    const label = `… ${text.tables.more(slot.more)}`;
    return { ...bare, width: Math.round(width + chip * ratio), label };
  }
  const { block, position } = slot;
  if (block === NONE) return { ...bare, width, label: '·' };
  const word = wordOf(block);
  const count = countOf(word);
  return {
    x,
    y,
    width,
    label: String(block),
    kind: copies.includes(position) ? 'copy' : count > 1 ? 'shared' : 'active',
    filled: Math.round(filledOf(word) * width),
    count,
    framed: hot.has(block)
      ? 'hot'
      : present.some(({ target }) => target === block)
        ? 'target'
        : present.some(({ source }) => source === block)
          ? 'source'
          : null,
  };
}
