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
  const [size, setSize] = useState(0);
  const [room, setRoom] = useState(0);
  const from = useRef<{ at: number; size: number } | null>(null);
  const isUpright = side !== 'top';
  const sign = side === 'right' ? 1 : -1;
  useEffect(() => {
    const element = own.current!.parentElement!;
    const measure = (): void => {
      const around = element.parentElement;
      // What is taken out of the page is told of once more.
      if (around === null) return;
      setSize(isUpright ? element.offsetWidth : element.offsetHeight);
      setRoom(isUpright ? around.offsetWidth : around.offsetHeight);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [isUpright]);
  const { least, share } = LIMITS[panel];
  const most = Math.max(least, Math.floor(room * share));
  const set = (next: number): void => resize(panel, Math.max(least, Math.min(most, next)));
  const at = (event: PointerEvent): number => (isUpright ? event.clientX : event.clientY) / zoom;
  const grow = isUpright ? (sign > 0 ? 'ArrowRight' : 'ArrowLeft') : 'ArrowUp';
  const shrink = isUpright ? (sign > 0 ? 'ArrowLeft' : 'ArrowRight') : 'ArrowDown';
  return (
    // biome-ignore lint/a11y/useSemanticElements: an edge that is moved is no rule between two paragraphs
    <div
      ref={own}
      class={`splitter ${side}`}
      role="separator"
      tabIndex={0}
      aria-orientation={isUpright ? 'vertical' : 'horizontal'}
      aria-label={text.sizes.label(text.sizes.panels[panel])}
      aria-valuenow={size}
      aria-valuemin={least}
      aria-valuemax={most}
      title={text.sizes.title}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { at: at(event), size };
      }}
      onPointerMove={(event) => {
        if (from.current !== null) set(from.current.size + sign * (at(event) - from.current.at));
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
        if (event.key === grow) set(size + by);
        else if (event.key === shrink) set(size - by);
        else if (event.key === 'Home') set(least);
        else if (event.key === 'End') set(most);
        else if (event.key === 'Enter') resize(panel, null);
        else return;
        event.preventDefault();
      }}
    />
  );
}
