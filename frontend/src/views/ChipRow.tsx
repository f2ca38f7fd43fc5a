/** The blocks of one sequence as chips, wherever a sequence is told of. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hello } from '../store/ledger';
import { heldWords } from '../store/picture';
import { hover, hoverBlock, selectBlock, selection } from '../store/selection';
import { palette } from '../store/theme';
import { ChipSheet } from './ChipSheet';
import {
  blockOf,
  CHIP_GAP,
  CHIP_LINE,
  chipsPerLine,
  chipWidth,
  elide,
  hotBlocks,
  linesOf,
  spoken,
  titleOf,
} from './chips';

interface Props {
  readonly blocks: Uint32Array;
  readonly copies: readonly number[];
  readonly lines: number;
}

export function ChipRow({ blocks, copies, lines }: Props) {
  const row = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const sheet = useRef<ChipSheet | null>(null);
  const [width, setWidth] = useState(300);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(row.current!);
    return () => {
      observer.disconnect();
      sheet.current?.close();
    };
  }, []);
  const wordOf = useMemo(heldWords, [blocks]);
  const chip = chipWidth(hello.value?.num_blocks ?? 0);
  const perLine = chipsPerLine(width, chip);
  const slots = elide(blocks, perLine, lines);
  const height = linesOf(slots, perLine) * CHIP_LINE - CHIP_GAP;
  const hot = hotBlocks(hover.value.block, selection.value.block);
  const colours = palette.value;
  useLayoutEffect(() => {
    if (canvas.current === null) return;
    sheet.current ??= new ChipSheet(canvas.current);
    const marks = { chip, wordOf, hot, present: [], palette: colours };
    sheet.current.draw([{ slots, left: 0, top: 0, perLine, copies }], marks, width, height);
  });
  const blockUnder = (event: MouseEvent): number | null => blockOf(sheet.current?.at(event) ?? null);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: chips are a second way to blocks, beside tables and map
    <div
      class="chips"
      ref={row}
      style={{ height: `${height}px` }}
      onClick={(event) => {
        const block = blockUnder(event);
        if (block === null) return;
        event.stopPropagation();
        selectBlock(selection.value.block === block ? null : block);
      }}
      onKeyDown={undefined}
      onPointerMove={(event) => {
        const slot = sheet.current?.at(event) ?? null;
        hoverBlock(blockOf(slot));
        event.currentTarget.title = slot === null ? '' : titleOf(slot, wordOf, hello.value?.block_size ?? 1);
      }}
      onPointerLeave={() => hoverBlock(null)}
    >
      <canvas ref={canvas} role="img" aria-label={spoken(slots)} />
    </div>
  );
}
