/** The edge of a panel: dragged, or moved by arrows, it makes the panel larger or smaller; double click or Enter undoes that. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { zoom } from '../store/scale';
import { LIMITS, resize, type Sized } from '../store/sizes';
import { text } from '../text';

/** CSS pixels that an arrow moves it; with Shift. */
const STEP = 16;
const LARGE_STEP = 64;

interface Props {
  readonly panel: Sized;
  /** On which side of its panel it lies. */
  readonly side: 'right' | 'left' | 'top';
}

export function Splitter({ panel, side }: Props) {
  const own = useRef<HTMLDivElement>(null);
  const [told, setTold] = useState({ size: 0, room: 0 });
  const from = useRef<{ at: number; size: number } | null>(null);
  const isUpright = side !== 'top';
  const sign = side === 'right' ? 1 : -1;
  const measured = (element = own.current!.parentElement!): { size: number; room: number } => {
    const around = element.parentElement!;
    return isUpright
      ? { size: element.offsetWidth, room: around.offsetWidth }
      : { size: element.offsetHeight, room: around.offsetHeight };
  };
  useEffect(() => {
    const element = own.current!.parentElement!;
    const observer = new ResizeObserver(() => {
      // What is taken out of the page is told of once more.
      if (element.parentElement !== null) setTold(measured(element));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [isUpright]);
  const { least, share } = LIMITS[panel];
  const most = (room: number): number => Math.max(least, Math.floor(room * share));
  // From how large it is now, not from what was told last: the key before this one may not have been drawn yet.
  const grow = (from: number, by: number): void =>
    resize(panel, Math.max(least, Math.min(most(measured().room), from + by)));
  const at = (event: PointerEvent): number => (isUpright ? event.clientX : event.clientY) / zoom;
  const larger = isUpright ? (sign > 0 ? 'ArrowRight' : 'ArrowLeft') : 'ArrowUp';
  const smaller = isUpright ? (sign > 0 ? 'ArrowLeft' : 'ArrowRight') : 'ArrowDown';
  return (
    // biome-ignore lint/a11y/useSemanticElements: an edge that is moved is no rule between two paragraphs
    <div
      ref={own}
      class={`splitter ${side}`}
      role="separator"
      tabIndex={0}
      aria-orientation={isUpright ? 'vertical' : 'horizontal'}
      aria-label={text.sizes.label(text.sizes.panels[panel])}
      aria-valuenow={told.size}
      aria-valuemin={least}
      aria-valuemax={most(told.room)}
      title={text.sizes.title}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { at: at(event), size: measured().size };
      }}
      onPointerMove={(event) => {
        if (from.current !== null) grow(from.current.size, sign * (at(event) - from.current.at));
      }}
      onPointerUp={() => {
        from.current = null;
      }}
      onPointerCancel={() => {
        from.current = null;
      }}
      onDblClick={() => resize(panel, null)}
      onKeyDown={(event) => {
        const by = event.shiftKey ? LARGE_STEP : STEP;
        if (event.key === larger) grow(measured().size, by);
        else if (event.key === smaller) grow(measured().size, -by);
        else if (event.key === 'Home') grow(0, 0);
        else if (event.key === 'End') grow(measured().room, 0);
        else if (event.key === 'Enter') resize(panel, null);
        else return;
        event.preventDefault();
      }}
    />
  );
}
