/**
 * The marks of the timeline, told apart by their shapes as well as their colours, and what a pointer finds of them.
 *
 *     ▁▁▁ evictions   ╷ copies   ▼ preemptions   ✕ refusals   ◆ violations   ‖ gaps   ⚑ notes
 */

import type { Landmark, LandmarkKind, ListedKind } from '../../worker/landmarks';
import type { Buckets } from '../../worker/series';
import { MONO } from '../fonts';
import type { Palette } from '../palette';
import { bottomOf, type Layout, type Window, xOf } from './draw';

/** How far from a mark a pointer still finds it, in CSS pixels. */
const REACH = 5;
/** What is found first where several are near: the rarer one. */
const RARITY: readonly ListedKind[] = ['violation', 'gap', 'refused', 'note'];

export interface Mark {
  readonly kind: LandmarkKind;
  readonly count: number;
  /** The step; of counted ones the first of their bucket, which may hold several steps. */
  readonly step: number;
  /** Of one that is listed: the record that tells it. */
  readonly record: number | null;
  readonly message: string | null;
}

/** The mark at a point of the lane; null: there is none. */
export function markAt(
  x: number,
  y: number,
  buckets: Buckets | null,
  listed: readonly Landmark[],
  layout: Layout,
): Mark | null {
  if (buckets === null || y < layout.flag || y > layout.flag + layout.marks) return null;
  const { window } = buckets;
  const near = listed
    .filter(({ step }) => Math.abs(xOf(Math.max(0, step) + 0.5, window, layout) - x) <= REACH)
    .sort((a, b) => RARITY.indexOf(a.kind) - RARITY.indexOf(b.kind));
  if (near[0] !== undefined) return near[0];
  const kinds = ['preempted', 'copy', 'evict'] as const;
  for (const kind of kinds) {
    let best: { bucket: number; far: number } | null = null;
    for (let bucket = 0; bucket < buckets[kind].length; bucket++) {
      if (!(buckets[kind][bucket]! > 0)) continue;
      const from = xOf(buckets.from + bucket * buckets.per, window, layout);
      const to = xOf(buckets.from + (bucket + 1) * buckets.per, window, layout);
      const far = x < from ? from - x : x > to ? x - to : 0;
      if (far <= REACH - 2 && (best === null || far < best.far)) best = { bucket, far };
    }
    if (best !== null) {
      const step = Math.max(0, buckets.from + best.bucket * buckets.per);
      return { kind, count: buckets[kind][best.bucket]!, step, record: null, message: null };
    }
  }
  return null;
}

/** Draw those that are listed one by one, over a ground that keeps them apart from what lies under them. */
export function drawListed(
  context: CanvasRenderingContext2D,
  listed: readonly Landmark[],
  window: Window,
  layout: Layout,
  palette: Palette,
): void {
  const middle = layout.flag + layout.marks / 2 - 1;
  for (const kind of [...RARITY].reverse()) {
    for (const { step } of listed.filter((each) => each.kind === kind)) {
      const x = Math.round(xOf(Math.max(0, step) + 0.5, window, layout));
      if (x < layout.left - 1 || x > layout.right + 1) continue;
      context.fillStyle = palette.bg;
      context.fillRect(x - 5, middle - 6, 10, 12);
      drawMark(context, kind, x, middle, palette);
    }
  }
}

/** Draw A and B, which a reader set: a line through all, and its name at the top. */
export function drawMarked(
  context: CanvasRenderingContext2D,
  marked: Readonly<Record<'A' | 'B', number | null>>,
  {
    window,
    layout,
    palette,
  }: { readonly window: Window; readonly layout: Layout; readonly palette: Palette },
): void {
  context.font = `600 10px ${MONO}`;
  context.textAlign = 'center';
  for (const name of ['A', 'B'] as const) {
    const step = marked[name];
    if (step === null || step < window.from || step >= window.to) continue;
    const x = Math.round(xOf(step + 0.5, window, layout));
    context.fillStyle = palette.text;
    for (let y = layout.flag; y < bottomOf(layout); y += 4) context.fillRect(x, y, 1, 2);
    context.fillText(name, x, layout.flag - 6);
  }
}

function drawMark(
  context: CanvasRenderingContext2D,
  kind: ListedKind,
  x: number,
  y: number,
  palette: Palette,
): void {
  context.lineWidth = 1.8;
  context.strokeStyle = palette[kind === 'note' ? 'accent' : kind === 'gap' ? 'text' : 'bad'];
  context.fillStyle = context.strokeStyle;
  context.beginPath();
  if (kind === 'refused') {
    context.moveTo(x - 3.5, y - 3.5);
    context.lineTo(x + 3.5, y + 3.5);
    context.moveTo(x + 3.5, y - 3.5);
    context.lineTo(x - 3.5, y + 3.5);
    context.stroke();
  } else if (kind === 'violation') {
    context.moveTo(x, y - 5);
    context.lineTo(x + 4.5, y);
    context.lineTo(x, y + 5);
    context.lineTo(x - 4.5, y);
    context.fill();
  } else if (kind === 'gap') {
    context.moveTo(x - 2, y - 5);
    context.lineTo(x - 2, y + 5);
    context.moveTo(x + 2, y - 5);
    context.lineTo(x + 2, y + 5);
    context.stroke();
  } else {
    context.moveTo(x - 3, y + 5);
    context.lineTo(x - 3, y - 5);
    context.stroke();
    context.beginPath();
    context.moveTo(x - 3, y - 5);
    context.lineTo(x + 4, y - 2.5);
    context.lineTo(x - 3, y);
    context.fill();
  }
}
