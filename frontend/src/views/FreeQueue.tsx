/** The free queue, head to tail: who goes next, and what it would lose. */

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { NONE } from '../ledger/generated/constants';
import { hello, queue, wantQueue } from '../store/ledger';
import { picture } from '../store/picture';
import { hover, hoverBlock, selectBlock, selection } from '../store/selection';
import { text } from '../text';
import { hasContent } from '../worker/word';

const GAP = 3;

/** How many chips of a width fit into a row: so many are asked for. */
export function useFits(chip: number): { row: RefObject<HTMLDivElement | null>; fits: number } {
  const row = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(row.current!);
    return () => observer.disconnect();
  }, []);
  const fits = Math.max(4, Math.floor((width - 80) / (chip + GAP)));
  useEffect(() => {
    wantQueue.value = fits;
  }, [fits]);
  return { row, fits };
}

export function FreeQueue() {
  const digits = String(Math.max(0, (hello.value?.num_blocks ?? 1) - 1)).length;
  const chip = Math.max(36, 12 + 7 * digits);
  const { row, fits } = useFits(chip);
  const answer = queue.value;
  const order = hello.value?.config?.free_order;
  const head = answer === null ? [] : Array.from(answer.head.subarray(0, fits));
  const next = head[0];
  const hot = [hover.value.block, selection.value.block];
  return (
    <section class="queue" aria-label={text.panels.queue}>
      <div class="head">
        <h2>{text.panels.queue}</h2>
        {next !== undefined && answer !== null && (
          <span class="next">
            {text.queue.next} <b class="num">{next}</b>{' '}
            {answer.loses === NONE
              ? text.queue.nothing
              : text.queue.loses(answer.loses, answer.start, answer.hits)}
          </span>
        )}
        <span class="note num">
          {answer === null ? '' : text.queue.summary(answer.length, typeof order === 'string' ? order : '')}
        </span>
      </div>
      <div
        class="queuerow"
        ref={row}
        tabIndex={0}
        role="listbox"
        aria-label={text.panels.queue}
        aria-orientation="horizontal"
        data-panel="queue"
        style={{ '--chip': `${chip}px` }}
        onKeyDown={(event) => {
          const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
          if (by === 0) return;
          event.preventDefault();
          const at = selection.value.block === null ? -1 : head.indexOf(selection.value.block);
          selectBlock(head[Math.max(0, Math.min(head.length - 1, at + by))] ?? null);
        }}
        onPointerLeave={() => hoverBlock(null)}
      >
        {answer !== null && answer.length === 0 && <span class="warn">{text.queue.empty}</span>}
        {head.map((block, i) => (
          <span
            key={block}
            role="option"
            aria-selected={selection.value.block === block}
            tabIndex={-1}
            class={`qchip${i === 0 ? ' next' : ''}${hasContent(picture.words[block] ?? 0) ? ' cached' : ''}${hot.includes(block) ? ' hot' : ''}`}
            onPointerOver={() => hoverBlock(block)}
            onClick={() => selectBlock(selection.value.block === block ? null : block)}
            onKeyDown={undefined}
          >
            {block}
          </span>
        ))}
        {answer !== null && answer.length > head.length && (
          <span class="faint more">{text.queue.more(answer.length - head.length)}</span>
        )}
      </div>
    </section>
  );
}
