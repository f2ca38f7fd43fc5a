/** The blocks of one sequence as chips, wherever a sequence is told of. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { hello } from '../store/ledger';
import { picture } from '../store/picture';
import { hover, hoverBlock, selectBlock, selection } from '../store/selection';
import { chipWidth, elide, paintChips } from './chips';

interface Props {
  readonly blocks: Uint32Array;
  readonly copies: readonly number[];
  readonly lines: number;
}

function blockOf(event: Event): number | null {
  const told = (event.target as HTMLElement).closest<HTMLElement>('[data-block]')?.dataset.block;
  return told === undefined ? null : Number(told);
}

export function ChipRow({ blocks, copies, lines }: Props) {
  const row = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(300);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(row.current!);
    return () => observer.disconnect();
  }, []);
  const chip = chipWidth(hello.value?.num_blocks ?? 0);
  const hot = new Set([hover.value.block, selection.value.block].filter((block) => block !== null));
  useLayoutEffect(() => {
    if (row.current === null) return;
    const perLine = Math.max(4, Math.floor((width + 3) / chip));
    const marks = { hot, copies: new Set(copies), blockSize: hello.value?.block_size ?? 1 };
    paintChips(row.current, elide(blocks, perLine, lines), picture.words, marks);
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: chips are a second way to blocks, beside tables and map
    <div
      class="chips"
      ref={row}
      style={{ '--chip': `${chip - 3}px` }}
      onClick={(event) => {
        const block = blockOf(event);
        if (block === null) return;
        event.stopPropagation();
        selectBlock(selection.value.block === block ? null : block);
      }}
      onKeyDown={undefined}
      onPointerOver={(event) => hoverBlock(blockOf(event))}
      onPointerLeave={() => hoverBlock(null)}
    />
  );
}
