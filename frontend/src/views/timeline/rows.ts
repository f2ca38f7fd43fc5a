/**
 * A row a request, under the curves: what it did in each step.
 *
 *     r12  ──────────▆▆▆▆██████████╌╌╌╌╌╌▆▆████|      ── waits   ▆ prefill   █ decode   ╌ preempted   | ended
 *     r17        ────────────▆▆▆▆▆▆▆▆▆▆▆▆████████     ╱╱ not known, or on its way
 *
 * Of thousands of steps there are no chunks, and ╌ lies on █ where a request was preempted somewhere in it.
 */

import { text } from '../../text';
import { type LaneRow, type LanesAnswer, SPAN_STATES } from '../../worker/lanes';
import { MONO } from '../fonts';
import type { Palette } from '../palette';
import { hatch, type Layout, ROW, rowsTop, type Window, xOf } from './draw';

const words = text.timeline;

export interface RowsScene {
  readonly lanes: LanesAnswer;
  readonly window: Window;
  readonly layout: Layout;
  readonly palette: Palette;
  /** The request that is selected, or that the selected sequence is of. */
  readonly selected: number | null;
}

/** Which row is at a height; null: none. */
export function rowAt(y: number, lanes: LanesAnswer | null, layout: Layout): LaneRow | null {
  const at = Math.floor((y - rowsTop(layout)) / ROW);
  return lanes === null || at < 0 || at >= layout.rows ? null : (lanes.rows[at] ?? null);
}

/** What a request does in a step; null: it is not in the engine, or it is not known. */
export function doneIn(row: LaneRow, step: number): { state: string; tokens: number } | null {
  const { spans, chunks } = row;
  for (let i = 0; i < spans.length; i += 3) {
    if (step < spans[i]! || step >= spans[i + 1]!) continue;
    let tokens = 0;
    for (let at = 0; at < chunks.length; at += 2) if (chunks[at] === step) tokens += chunks[at + 1]!;
    return { state: SPAN_STATES[spans[i + 2]!]!, tokens };
  }
  return null;
}

export function drawRows(context: CanvasRenderingContext2D, scene: RowsScene): void {
  const { lanes, layout, palette, window } = scene;
  const top = rowsTop(layout);
  const height = layout.rows * ROW;
  context.font = `10px ${MONO}`;
  context.textAlign = 'left';
  if (lanes.total === 0 && lanes.holes.length === 0) {
    context.fillStyle = palette.dim;
    context.textAlign = 'center';
    context.fillText(words.noRequests, (layout.left + layout.right) / 2, top + height / 2);
    return;
  }
  context.save();
  for (const [at, row] of lanes.rows.slice(0, layout.rows).entries()) {
    const y = top + at * ROW;
    const isSelected = row.request === scene.selected;
    if (isSelected) {
      context.fillStyle = palette['accent-ground'];
      context.fillRect(0, y, layout.right, ROW);
    }
    context.fillStyle = isSelected ? palette.accent : palette.dim;
    context.fillText(`r${row.request}`, 12, y + ROW / 2);
    drawRow(context, row, y, scene);
  }
  context.restore();
  const holes: [number, number][] = [];
  for (let i = 0; i < lanes.holes.length; i += 2) {
    const x0 = Math.max(layout.left, xOf(lanes.holes[i]!, window, layout));
    const x1 = Math.min(layout.right, xOf(lanes.holes[i + 1]!, window, layout));
    if (x1 > x0) holes.push([x0, x1]);
  }
  hatch(context, holes, top, height, palette.line);
}

function drawRow(context: CanvasRenderingContext2D, row: LaneRow, y: number, scene: RowsScene): void {
  const { layout, palette, window } = scene;
  const { spans, chunks, end } = row;
  const left = (step: number): number => Math.max(layout.left, xOf(step, window, layout));
  const right = (step: number): number => Math.min(layout.right, xOf(step, window, layout));
  for (let i = 0; i < spans.length; i += 3) {
    const x0 = left(spans[i]!);
    const width = Math.max(1, right(spans[i + 1]!) - x0);
    const state = SPAN_STATES[spans[i + 2]!];
    if (state === 'running' || state === 'mixed') {
      context.fillStyle = palette.decode;
      context.fillRect(x0, y + 3, width, ROW - 5);
      if (state === 'mixed') {
        context.fillStyle = palette.bad;
        for (let x = x0; x < x0 + width; x += 4)
          context.fillRect(x, y + ROW / 2 - 1, Math.min(2, x0 + width - x), 2);
      }
    } else if (state === 'waiting') {
      context.fillStyle = palette.faint;
      context.fillRect(x0, y + ROW / 2 - 0.5, width, 1);
    } else {
      context.fillStyle = palette.bad;
      for (let x = x0; x < x0 + width; x += 4)
        context.fillRect(x, y + ROW / 2 - 1, Math.min(2.5, x0 + width - x), 2);
    }
  }
  context.fillStyle = palette.prefill;
  for (let i = 0; i < chunks.length; i += 2) {
    const x0 = left(chunks[i]!);
    context.fillRect(x0, y + 2, Math.max(1, right(chunks[i]! + 1) - x0), ROW - 3);
  }
  if (end === null) return;
  const x = Math.min(layout.right - 1, left(end.step + 1));
  if (end.how === 'finished') {
    context.fillStyle = palette.text;
    context.fillRect(x - 1, y + 1.5, 1.5, ROW - 2);
    return;
  }
  const middle = y + ROW / 2;
  context.strokeStyle = palette.bad;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - 3, middle - 3);
  context.lineTo(x + 3, middle + 3);
  context.moveTo(x + 3, middle - 3);
  context.lineTo(x - 3, middle + 3);
  context.stroke();
}
