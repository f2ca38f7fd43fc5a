/**
 * The chips of a block table, patched by hand: rows change with every step, and a virtual tree of a thousand chips
 * twenty times a second is what would be felt first.
 */

import { NONE } from '../ledger/generated/constants';
import { text } from '../text';
import { classOf, countOf, filledOf } from '../worker/word';

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
  return Math.max(34, 18 + 7 * String(Math.max(0, numBlocks - 1)).length) + 3;
}

export interface ChipMarks {
  readonly hot: ReadonlySet<number>;
  readonly copies: ReadonlySet<number>;
  readonly blockSize: number;
}

interface Chip extends HTMLElement {
  /** What it shows, to leave it alone when nothing changed. */
  shown?: string;
}

function make(): Chip {
  const chip = document.createElement('span') as Chip;
  chip.append(document.createElement('b'), document.createElement('sup'), document.createElement('i'));
  return chip;
}

/** Make the children of `row` show `slots`. */
export function paintChips(
  row: HTMLElement,
  slots: readonly Slot[],
  words: Uint32Array,
  marks: ChipMarks,
): void {
  while (row.children.length > slots.length) row.lastElementChild!.remove();
  slots.forEach((slot, i) => {
    let chip = row.children[i] as Chip | undefined;
    if (chip === undefined) {
      chip = make();
      row.append(chip);
    }
    if ('more' in slot) paintMore(chip, slot.more);
    else
      paintBlock(chip, slot.block, slot.block === NONE ? 0 : (words[slot.block] ?? 0), slot.position, marks);
  });
}

function paintMore(chip: Chip, more: number): void {
  const shown = `more ${more}`;
  if (chip.shown === shown) return;
  chip.shown = shown;
  chip.className = 'chip more';
  chip.removeAttribute('data-block');
  chip.removeAttribute('title');
  const [number, sup, bar] = chip.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
  number.textContent = `… ${text.tables.more(more)}`;
  sup.textContent = '';
  bar.style.width = '0';
}

function paintBlock(chip: Chip, block: number, word: number, position: number, marks: ChipMarks): void {
  const isHot = marks.hot.has(block);
  const isCopy = marks.copies.has(position);
  const shown = `${block} ${word} ${isHot} ${isCopy}`;
  if (chip.shown === shown) return;
  chip.shown = shown;
  const [number, sup, bar] = chip.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
  if (block === NONE) {
    chip.className = 'chip hole';
    chip.title = text.tables.hole;
    number.textContent = '·';
    sup.textContent = '';
    bar.style.width = '0';
    return;
  }
  const count = countOf(word);
  const filled = filledOf(word);
  chip.className = `chip${count > 1 ? ' shared' : ''}${isCopy ? ' copy' : ''}${isHot ? ' hot' : ''}`;
  chip.dataset.block = String(block);
  const state = text.states.ofClass[classOf(word)]!;
  chip.title = text.tables.chip(block, state, count, Math.round(filled * marks.blockSize), marks.blockSize);
  number.textContent = String(block);
  sup.textContent = count > 1 ? String(count) : '';
  bar.style.width = `${filled * 100}%`;
}
