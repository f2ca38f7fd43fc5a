/** Blocks or runs of them in as many rows as there is room for: one may be selected, and the arrow keys go through them. */

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { wantQueue } from '../store/ledger';
import { hover, hoverBlock, selectBlock, selection } from '../store/selection';
import { text } from '../text';

const GAP = 3;
const ROW = 20;
/** CSS pixels for how many there are besides. */
const MORE = 80;

/** The blocks `first` to `last`, and how they look: classes of the style sheet. */
export interface Chip {
  readonly first: number;
  readonly last: number;
  readonly label: string;
  readonly looks: readonly (string | false)[];
  readonly title?: string;
}

/** How many chips of a width fit: so many are asked for. */
export function useFits(chip: number): { row: RefObject<HTMLDivElement | null>; fits: number } {
  const row = useRef<HTMLDivElement>(null);
  const [{ width, height }, setRoom] = useState({ width: 900, height: ROW });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setRoom(entry!.contentRect));
    observer.observe(row.current!);
    return () => observer.disconnect();
  }, []);
  const rows = Math.max(1, Math.floor((height + GAP) / (ROW + GAP)));
  const last = Math.max(0, Math.floor((width - MORE) / (chip + GAP)));
  const fits = Math.max(4, (rows - 1) * Math.floor((width + GAP) / (chip + GAP)) + last);
  useEffect(() => {
    wantQueue.value = fits;
  }, [fits]);
  return { row, fits };
}

/** Digits of the highest block's number. */
export function digitsOf(blocks: number | undefined): number {
  return String(Math.max(0, (blocks ?? 1) - 1)).length;
}

function isIn(chip: Chip, block: number | null): boolean {
  return block !== null && chip.first <= block && block <= chip.last;
}

interface Props {
  readonly row: RefObject<HTMLDivElement | null>;
  readonly label: string;
  /** Pixels of a chip. */
  readonly width: number;
  readonly chips: readonly Chip[];
  /** What is said in place of chips where there is none at all. */
  readonly empty: string | null;
  /** How many there are besides. */
  readonly more: number;
}

export function QueueRow({ row, label, width, chips, empty, more }: Props) {
  const selected = selection.value.block;
  // Of the row, as there are a hundred chips and each is another block with every step.
  const under = (event: Event): Chip | undefined => {
    const found = (event.target as HTMLElement).closest('.qchip');
    return found === null ? undefined : chips[[...row.current!.querySelectorAll('.qchip')].indexOf(found)];
  };
  return (
    <div
      class="queuerow"
      ref={row}
      tabIndex={0}
      role="listbox"
      aria-label={label}
      aria-orientation="horizontal"
      data-panel="queue"
      style={{ '--chip': `${width}px` }}
      onKeyDown={(event) => {
        const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (by === 0) return;
        event.preventDefault();
        const at = chips.findIndex((chip) => isIn(chip, selection.value.block));
        selectBlock(chips[Math.max(0, Math.min(chips.length - 1, at + by))]?.first ?? null);
      }}
      onPointerOver={(event) => {
        const chip = under(event);
        if (chip !== undefined) hoverBlock(chip.first);
      }}
      onPointerLeave={() => hoverBlock(null)}
      onClick={(event) => {
        const chip = under(event);
        if (chip !== undefined) selectBlock(isIn(chip, selection.value.block) ? null : chip.first);
      }}
    >
      {empty !== null && <span class="warn">{empty}</span>}
      {chips.map((chip, i) => {
        const isHot = isIn(chip, hover.value.block) || isIn(chip, selected);
        return (
          <span
            // Its place: whoever goes somewhere finds the same elements with other texts.
            key={i}
            role="option"
            aria-selected={isIn(chip, selected)}
            tabIndex={-1}
            title={chip.title}
            class={['qchip', ...chip.looks, isHot && 'hot'].filter(Boolean).join(' ')}
          >
            {chip.label}
          </span>
        );
      })}
      {more > 0 && <span class="faint more">{text.queue.more(more)}</span>}
    </div>
  );
}
