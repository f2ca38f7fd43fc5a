/** The whole session in small, at the foot of the timeline: how full the pool was, and where nothing is known of it. */

import type { Buckets } from '../../worker/series';
import type { Palette } from '../palette';
import { hatch, type Layout, minimapTop, type Window, xOf } from './draw';

export function drawMinimap(
  context: CanvasRenderingContext2D,
  buckets: Buckets,
  layout: Layout,
  palette: Palette,
  usable: number,
): void {
  const top = minimapTop(layout);
  const bottom = top + layout.minimap;
  const { window, from, per, most, known, preempted } = buckets;
  context.fillStyle = palette['s-free'];
  context.fillRect(layout.left, top, layout.right - layout.left, layout.minimap);
  const unknown: [number, number][] = [];
  for (let i = 0; i < most.length; i++) {
    const x0 = Math.max(layout.left, xOf(from + i * per, window, layout));
    const x1 = Math.min(layout.right, xOf(from + (i + 1) * per, window, layout));
    if (known[i] === 0) {
      const before = unknown.at(-1);
      if (before !== undefined && before[1] >= x0 - 0.01) before[1] = x1;
      else unknown.push([x0, x1]);
      continue;
    }
    const height = (layout.minimap * most[i]!) / Math.max(1, usable);
    context.fillStyle = palette['s-active'];
    context.fillRect(x0, bottom - height, Math.max(0.7, x1 - x0), height);
    if (preempted[i]! > 0) {
      context.fillStyle = palette.bad;
      context.fillRect(x0, top, Math.max(1, x1 - x0), 2);
    }
  }
  hatch(context, unknown, top, layout.minimap, palette.line);
}

/** Left and right of the window in it, in CSS pixels. */
export function windowIn(whole: Window, shown: Window, layout: Layout): [number, number] {
  const within = (x: number): number => Math.max(layout.left, Math.min(layout.right, x));
  return [within(xOf(shown.from, whole, layout)), within(xOf(shown.to, whole, layout))];
}
