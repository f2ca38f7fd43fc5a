/** Draws the lanes of the timeline: usage stacked, tokens a step, the hit rate, and what happened. */

import { integer } from '../../format';
import { text } from '../../text';
import type { Landmark } from '../../worker/landmarks';
import type { Buckets } from '../../worker/series';
import { MONO } from '../fonts';
import type { Palette } from '../palette';
import { drawListed } from './marks';

/** CSS pixels of the parts, from top to bottom. */
export interface Layout {
  readonly left: number;
  readonly right: number;
  readonly flag: number;
  readonly marks: number;
  readonly use: number;
  readonly tokens: number;
  readonly hits: number;
  /** How many requests have a row. */
  readonly rows: number;
  readonly axis: number;
  readonly minimap: number;
}

/** CSS pixels of a request's row. */
export const ROW = 11;
/** The curves need not be higher than this: what is left is for rows, which have this share at least. */
const CURVES = 140;
const ROWS_SHARE = 0.45;

export function layoutFor(width: number, height: number): Layout {
  const left = 62;
  const flag = 18;
  const marks = 14;
  const axis = 16;
  const minimap = 14;
  const rest = Math.max(40, height - flag - marks - axis - minimap - 18);
  const rows = Math.floor((Math.max(rest * ROWS_SHARE, rest - CURVES) - GAP) / ROW);
  const curves = rest - rows * ROW - 2 * GAP;
  const tokens = Math.round(curves * 0.28);
  const hits = Math.round(curves * 0.24);
  const use = curves - tokens - hits;
  return { left, right: width - 16, flag, marks, use, tokens, hits, rows, axis, minimap };
}

/** CSS pixels between use, tokens, hit rate and rows. */
export const GAP = 6;

/** Where the rows of requests begin. */
export function rowsTop({ flag, marks, use, tokens, hits }: Layout): number {
  return flag + marks + use + GAP + tokens + GAP + hits + GAP;
}

/** Where the lanes end and the axis begins. */
export function bottomOf(layout: Layout): number {
  return rowsTop(layout) + layout.rows * ROW;
}

/** CSS pixels between what lies above the axis and it. */
export const AXIS_GAP = 4;

/** Where the minimap begins, under the axis. */
export function minimapTop(layout: Layout): number {
  return bottomOf(layout) + AXIS_GAP + layout.axis;
}

/** Steps that the width shows. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

export function xOf(step: number, window: Window, layout: Layout): number {
  return (
    layout.left + ((step - window.from) / Math.max(1, window.to - window.from)) * (layout.right - layout.left)
  );
}

export function stepAt(x: number, window: Window, layout: Layout): number {
  const part = (x - layout.left) / Math.max(1, layout.right - layout.left);
  return Math.floor(window.from + part * (window.to - window.from));
}

export interface TimelineScene {
  readonly buckets: Buckets;
  /** The window of the buckets. */
  readonly window: Window;
  readonly layout: Layout;
  readonly palette: Palette;
  readonly usable: number;
  /** Landmarks that are drawn one by one. */
  readonly listed: readonly Landmark[];
  readonly lastStep: number;
}

/** What is drawn over the curves (`curves.ts`): words, what is not known, and marks of a shape. */
export function drawTimeline(context: CanvasRenderingContext2D, scene: TimelineScene): void {
  const { layout, palette } = scene;
  const top = layout.flag;
  const useTop = top + layout.marks;
  const tokensTop = useTop + layout.use + GAP;
  const hitsTop = tokensTop + layout.tokens + GAP;
  context.font = `11px ${MONO}`;
  context.textBaseline = 'middle';
  context.fillStyle = palette.dim;
  context.textAlign = 'left';
  context.fillText(text.timeline.use, 12, useTop + layout.use / 2);
  context.fillText(text.timeline.tokens, 12, tokensTop + layout.tokens / 2);
  context.font = `10px ${MONO}`;
  context.fillText(text.timeline.hitRate, 12, hitsTop + layout.hits / 2);
  if (scene.buckets.filling) drawFilling(context, scene, useTop);
  drawPreempted(context, scene, top);
  drawListed(context, scene.listed, scene.window, layout, palette);
  drawAxis(context, scene, bottomOf(layout) + AXIS_GAP);
}

/** Left and right edge of a bucket. */
function edges(scene: TimelineScene, bucket: number): [number, number] {
  const { buckets, window, layout } = scene;
  const from = buckets.from + bucket * buckets.per;
  return [
    Math.max(layout.left, xOf(from, window, layout)),
    Math.min(layout.right, xOf(Math.min(from + buckets.per, window.to), window, layout)),
  ];
}

/** What was passed by before this page joined is on its way: hatched, and no gap. */
function drawFilling(context: CanvasRenderingContext2D, scene: TimelineScene, top: number): void {
  const { buckets, layout, palette } = scene;
  const parts: [number, number][] = [];
  for (let i = 0; i < buckets.active.length; i++) {
    const [x0, x1] = edges(scene, i);
    if (Number.isNaN(buckets.active[i]!) && buckets.from + i * buckets.per <= scene.lastStep && x1 > x0)
      parts.push([x0, x1]);
  }
  hatch(context, parts, top, layout.use, palette.line);
}

/** Slanted lines over what is not known, from left to right each. */
export function hatch(
  context: CanvasRenderingContext2D,
  parts: readonly (readonly [number, number])[],
  top: number,
  height: number,
  colour: string,
): void {
  const [first, last] = [parts[0], parts.at(-1)];
  if (first === undefined || last === undefined) return;
  context.save();
  context.beginPath();
  for (const [x0, x1] of parts) context.rect(x0, top, x1 - x0, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = first[0] - height - (first[0] % 6); x < last[1]; x += 6) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

/** Preemptions as triangles: louder than evictions and copies, as they matter more. */
function drawPreempted(context: CanvasRenderingContext2D, scene: TimelineScene, top: number): void {
  const { buckets, layout, palette } = scene;
  const bottom = top + layout.marks - 2;
  context.fillStyle = palette.bad;
  context.beginPath();
  for (let i = 0; i < buckets.preempted.length; i++) {
    if (!(buckets.preempted[i]! > 0)) continue;
    const [x0, x1] = edges(scene, i);
    const x = (x0 + x1) / 2;
    context.moveTo(x, bottom - 3);
    context.lineTo(x - 3.5, bottom - 10);
    context.lineTo(x + 3.5, bottom - 10);
  }
  context.fill();
}

/** Round distances between labels. */
function spacing(steps: number, width: number): number {
  const least = (steps * 90) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= least) return Math.max(1, factor * power);
  return 10 * power;
}

function drawAxis(context: CanvasRenderingContext2D, scene: TimelineScene, top: number): void {
  const { window, layout, palette } = scene;
  const every = spacing(window.to - window.from, layout.right - layout.left);
  context.font = `10px ${MONO}`;
  context.textAlign = 'center';
  for (let step = Math.ceil(window.from / every) * every; step < window.to; step += every) {
    const x = xOf(step + 0.5, window, layout);
    if (x > layout.right - 8) break;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(x), top - 3, 1, 4);
    context.fillStyle = palette.faint;
    // Left of it stands how many requests have rows.
    if (x > layout.left + 14) context.fillText(integer(step), x, top + 7);
  }
}
