/** The whole session as a strip beside the list: where the list is, where the view stands, and a way to anywhere. */

import { useRef } from 'preact/hooks';
import { text } from '../text';

interface Props {
  /** The operation at the top of the list, the last one, and the one where the view stands. */
  readonly at: number;
  readonly lastOp: number;
  readonly viewOp: number;
  readonly onGo: (op: number) => void;
}

export function EventStrip({ at, lastOp, viewOp, onGo }: Props) {
  const strip = useRef<HTMLDivElement>(null);
  const all = Math.max(1, lastOp);
  const part = (op: number): string => `${(100 * Math.min(op, all)) / all}%`;
  const go = (event: PointerEvent): void => {
    const { top, height } = strip.current!.getBoundingClientRect();
    onGo(Math.max(0, Math.min(1, (event.clientY - top) / height)) * all);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 0.01, ArrowUp: -0.01, PageDown: 0.1, PageUp: -0.1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onGo(at + by * all);
  };
  return (
    <div
      ref={strip}
      class="eventstrip"
      role="scrollbar"
      tabIndex={0}
      aria-controls="events"
      aria-orientation="vertical"
      aria-label={text.events.place}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, lastOp)}
      aria-valuenow={Math.min(at, Math.max(0, lastOp))}
      aria-valuetext={text.events.at(at, Math.max(0, lastOp))}
      title={text.events.at(at, Math.max(0, lastOp))}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) go(event);
      }}
    >
      <i class="view" style={{ top: part(viewOp) }} />
      <i class="thumb" style={{ top: part(at) }} />
    </div>
  );
}
