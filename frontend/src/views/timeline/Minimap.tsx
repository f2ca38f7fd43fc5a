/** The part that the timeline shows, as a window over the whole session in small: to be moved, and by its edges resized. */

import { useRef } from 'preact/hooks';
import { lastStep } from '../../store/ledger';
import { pointIn } from '../../store/scale';
import { text } from '../../text';
import { minimapTop, stepAt, type Window } from './draw';
import { windowIn } from './overview';
import { layout, pan, show, showAll, windowShown, zoom } from './range';

const words = text.timeline.minimap;

/** CSS pixels around an edge in which it is taken hold of. */
const EDGE = 6;
/** A window is no narrower than this to the eye. */
const LEAST = 4;

type Part = 'from' | 'to' | 'both';

export function Minimap() {
  const own = useRef<HTMLDivElement>(null);
  const held = useRef<{ part: Part; at: number; window: Window } | null>(null);
  const at = layout.value;
  const shown = windowShown.value;
  const whole: Window = { from: 0, to: Math.max(1, lastStep.value + 1) };
  const [x0, x1] = windowIn(whole, shown, at);
  const width = Math.max(LEAST, x1 - x0);
  const stepUnder = (event: MouseEvent): number =>
    stepAt(pointIn(own.current!, event).x + at.left, whole, at);
  const partUnder = (event: MouseEvent): Part | null => {
    const x = pointIn(own.current!, event).x + at.left;
    const reach = Math.min(EDGE, width / 3);
    if (Math.abs(x - x0) <= reach) return 'from';
    if (Math.abs(x - x0 - width) <= reach) return 'to';
    return x > x0 && x < x0 + width ? 'both' : null;
  };
  const stop = (event: Event): void => event.stopPropagation();
  if (lastStep.value < 0) return null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the window in it is what keys reach
    <div
      ref={own}
      class="minimap"
      style={{ top: `${minimapTop(at)}px`, left: `${at.left}px`, width: `${at.right - at.left}px` }}
      onPointerDown={(event) => {
        stop(event);
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const step = stepUnder(event);
        let part = partUnder(event);
        let window = windowShown.peek();
        if (part === null) {
          // Beside it: it comes there.
          const half = (window.to - window.from) / 2;
          window = { from: step - half, to: step + half };
          show(window);
          part = 'both';
        }
        held.current = { part, at: step, window };
      }}
      onPointerMove={(event) => {
        stop(event);
        const { current } = held;
        const step = stepUnder(event);
        if (current === null) {
          event.currentTarget.dataset.part = partUnder(event) ?? '';
          return;
        }
        const { part, window } = current;
        const by = step - current.at;
        if (part === 'both') show({ from: window.from + by, to: window.to + by });
        else if (part === 'from') show({ from: Math.min(window.from + by, window.to - 1), to: window.to });
        else show({ from: window.from, to: Math.max(window.to + by, window.from + 1) });
      }}
      onPointerUp={(event) => {
        stop(event);
        held.current = null;
      }}
      onPointerCancel={() => {
        held.current = null;
      }}
      onDblClick={(event) => {
        stop(event);
        showAll();
      }}
    >
      <div
        class="window"
        role="slider"
        tabIndex={0}
        aria-label={words.label}
        aria-valuemin={0}
        aria-valuemax={lastStep.value}
        aria-valuenow={shown.from}
        aria-valuetext={words.shown(shown.from, shown.to - 1)}
        title={words.title}
        style={{ transform: `translateX(${x0 - at.left}px)`, width: `${width}px` }}
        onKeyDown={(event) => {
          const part = event.shiftKey ? 0.5 : 0.1;
          const middle = (at.left + at.right) / 2;
          if (event.key === 'ArrowLeft') pan(-part);
          else if (event.key === 'ArrowRight') pan(part);
          else if (event.key === 'ArrowUp' || event.key === '+') zoom(0.6, middle);
          else if (event.key === 'ArrowDown' || event.key === '-') zoom(1.7, middle);
          else if (event.key === 'Home') show({ from: 0, to: shown.to - shown.from });
          else if (event.key === 'End') show({ from: whole.to - (shown.to - shown.from), to: whole.to });
          else if (event.key === '0' || event.key === 'Enter') showAll();
          else return;
          event.preventDefault();
          stop(event);
        }}
      />
    </div>
  );
}
