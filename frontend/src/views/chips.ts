/** The chips of a block table: which blocks of it are shown, where each is, and what is said of it. */

import { NONE } from '../ledger/generated/constants';
import { text } from '../text';
import { classOf, countOf, filledOf, type WordOf } from '../worker/word';

/** CSS pixels: of a chip from top to bottom, between two of them, and from one line to the next. */
export const CHIP_HEIGHT = 18;
export const CHIP_GAP = 3;
export const CHIP_LINE = CHIP_HEIGHT + CHIP_GAP;

/** A place in a row: a block, or so many blocks left out. */
export type Slot = { readonly position: number; readonly block: number } | { readonly more: number };

/** Which blocks of a long table are shown: its first line and its end, with what lies between counted. */
export function elide(blocks: Uint32Array, perLine: number, lines: number): Slot[] {
  const all = (from: number, to: number): Slot[] =>
    Array.from(blocks.subarray(from, to), (block, i) => ({ position: from + i, block }));
  const room = perLine * lines;
  if (blocks.length <= room) return all(0, blocks.length);
  const head = perLine;
  // The count takes the room of two chips.
  const tail = room - head - 2;
  return [
    ...all(0, head),
    { more: blocks.length - head - tail },
    ...all(blocks.length - tail, blocks.length),
  ];
}

/** CSS pixels that a chip takes, with the gap after it. */
export function chipWidth(numBlocks: number): number {
  // A number, and beside it a ref count of two digits.
  return Math.max(34, 18 + 7 * String(Math.max(0, numBlocks - 1)).length) + CHIP_GAP;
}

/** How many chips fit into a line of so many CSS pixels. */
export function chipsPerLine(width: number, chip: number): number {
  return Math.max(4, Math.floor((width + CHIP_GAP) / chip));
}

/** Lines that so many slots take. */
export function linesOf(slots: readonly Slot[], perLine: number): number {
  return Math.ceil((slots.length + (slots.some((slot) => 'more' in slot) ? 1 : 0)) / perLine);
}

/** Where each slot is: its column and line. The count takes the room of two chips. */
export function placesOf(slots: readonly Slot[], perLine: number): { column: number; line: number }[] {
  const more = slots.findIndex((slot) => 'more' in slot);
  return slots.map((_, i) => {
    const place = more >= 0 && i > more ? i + 1 : i;
    return { column: place % perLine, line: Math.floor(place / perLine) };
  });
}

/** Which slot is at a point of the row, in CSS pixels; null: none, or the gap between two. */
export function slotAt(
  slots: readonly Slot[],
  x: number,
  y: number,
  perLine: number,
  chip: number,
): Slot | null {
  const column = Math.floor(x / chip);
  const line = Math.floor(y / CHIP_LINE);
  if (column < 0 || column >= perLine || line < 0 || y - line * CHIP_LINE >= CHIP_HEIGHT) return null;
  const place = line * perLine + column;
  const more = slots.findIndex((slot) => 'more' in slot);
  const i = more >= 0 && place > more ? place - 1 : place;
  const slot = slots[i] ?? null;
  // The two places of the count are one.
  if (slot === null || 'more' in slot) return slot;
  return x - column * chip >= chip - CHIP_GAP ? null : slot;
}

/** What is said of the block of a slot to whoever points at it. */
export function titleOf(slot: Slot, wordOf: WordOf, blockSize: number): string {
  if ('more' in slot) return '';
  const { block } = slot;
  if (block === NONE) return text.tables.hole;
  const word = wordOf(block);
  const state = text.states.ofClass[classOf(word)]!;
  return text.tables.chip(block, state, countOf(word), Math.round(filledOf(word) * blockSize), blockSize);
}

/** A row of slots in words. */
export function spoken(slots: readonly Slot[]): string {
  return text.tables.blocks(
    slots.map((slot) =>
      'more' in slot
        ? `… ${text.tables.more(slot.more)}`
        : slot.block === NONE
          ? text.tables.noBlock
          : String(slot.block),
    ),
  );
}

/** The block of a slot; null: it shows none. */
export function blockOf(slot: Slot | null): number | null {
  return slot === null || 'more' in slot || slot.block === NONE ? null : slot.block;
}

/** The blocks that light up wherever they are shown. */
export function hotBlocks(...blocks: readonly (number | null)[]): Set<number> {
  return new Set(blocks.filter((block) => block !== null));
}
