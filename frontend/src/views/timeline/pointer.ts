/**
 * What the pointer does on the timeline, and what is under it.
 *
 *     drag                moves the view                    drag with Shift, or on the axis   shows those steps
 *     click on a mark     goes there                        wheel                             shows more or fewer steps
 *     click on a row      selects the request               wheel with Shift                  other requests
 */

import { computed, signal } from '@preact/signals';
import { goToNote } from '../../store/breakpoints';
import { jump, jumpToFirst, point, seek } from '../../store/clock';
import { landmarks, lanes, position, series } from '../../store/ledger';
import { pointIn } from '../../store/scale';
import { hover, hoverSequence, selectRequest } from '../../store/selection';
import { COUNTED } from '../../worker/landmarks';
import { bottomOf, stepAt } from './draw';
import { type Mark, markAt } from './marks';
import { brush, holdStill, layout, showAll, windowNow, zoom } from './range';
import { rowAt } from './rows';

/** Where the pointer is, in CSS pixels; the steps slide along under it. */
export const hovered = signal<{ x: number; y: number } | null>(null);

/** From where to where is brushed, in CSS pixels. */
export const brushed = signal<readonly [number, number] | null>(null);

/** Which of all rows is the first one. */
export const rowsFrom = signal(0);

/** CSS pixels of the wheel a row. */
const WHEEL = 40;

/** The landmark under the pointer. */
export function hoveredMark(): Mark | null {
  const at = hovered.value;
  return at === null ? null : markAt(at.x, at.y, series.value, landmarks.value ?? [], layout.value);
}

export const isOnMark = computed(() => hoveredMark() !== null);

/** The request under the pointer. */
export const hoveredRow = computed(() => {
  const at = hovered.value;
  return at === null ? null : rowAt(at.y, lanes.value, layout.value);
});

/** The place of the request that is pointed at, here or elsewhere; -1: none. */
export const pointedRow = computed(() => {
  const { sequence } = hover.value;
  const rows = lanes.value?.rows ?? [];
  const own = hoveredRow.value;
  if (own !== null) return rows.indexOf(own);
  return sequence === null ? -1 : rows.findIndex(({ sequences }) => sequences.includes(sequence));
});

export function hoveredStep(): number | null {
  const at = hovered.peek();
  return at === null ? null : stepUnder(at.x);
}

function stepUnder(x: number): number {
  return Math.max(0, Math.min(position.peek().lastStep, stepAt(x, windowNow(), layout.peek())));
}

/** Go to a landmark: of those that are counted, to the first one of the steps that share its place; where a note tells of a breakpoint, to what met it. */
function goToMark({ kind, step, record }: Mark): void {
  const counted = COUNTED.find((each) => each === kind);
  if (counted !== undefined) jumpToFirst(counted, step);
  else if (kind === 'note' && record !== null) void goToNote({ step, record });
  else jump(step);
}

/** What a press that is not over does. */
let dragging: 'view' | 'brush' | null = null;
/** Where it began. */
let pressed = { x: 0, y: 0 };
/** A press that moved no further is a click. */
const STILL = 3;

function down(event: PointerEvent & { currentTarget: HTMLElement }): void {
  if (event.button !== 0) return;
  const { x, y } = pointIn(event.currentTarget, event);
  const mark = markAt(x, y, series.peek(), landmarks.peek() ?? [], layout.peek());
  if (mark !== null) {
    goToMark(mark);
    return;
  }
  pressed = { x, y };
  const row = rowAt(y, lanes.peek(), layout.peek());
  if (x < layout.peek().left && row !== null) {
    selectRequest(row.request);
    return;
  }
  event.currentTarget.setPointerCapture(event.pointerId);
  // The window must not slide away under the pointer that drags in it.
  holdStill();
  if (event.shiftKey || y > bottomOf(layout.peek())) {
    dragging = 'brush';
    return;
  }
  dragging = 'view';
  jump(stepUnder(x));
}

function move(event: PointerEvent & { currentTarget: HTMLElement }): void {
  const { x, y } = pointIn(event.currentTarget, event);
  hovered.value = { x, y };
  hoverSequence(hoveredRow.peek()?.sequences[0] ?? null);
  const at = stepUnder(x);
  // Whoever drags asks for each place, and does not wait on any.
  point(dragging !== null || isOnMark.peek() ? null : at);
  if (dragging === 'brush') brushed.value = Math.abs(x - pressed.x) < STILL ? null : [pressed.x, x];
  const { target, step } = position.peek();
  if (dragging === 'view' && at !== (target ?? step)) seek(at);
}

function up(event: PointerEvent & { currentTarget: HTMLElement }): void {
  const { x, y } = pointIn(event.currentTarget, event);
  const isClick = Math.abs(x - pressed.x) < STILL && Math.abs(y - pressed.y) < STILL;
  const row = dragging === 'view' && isClick ? rowAt(y, lanes.peek(), layout.peek()) : null;
  if (dragging === 'brush' && brushed.peek() !== null) brush(pressed.x, x);
  end();
  if (row !== null) selectRequest(row.request);
}

function end(): void {
  dragging = null;
  brushed.value = null;
}

/** Other rows of requests. */
export function scrollRows(by: number): void {
  const answer = lanes.peek();
  if (answer === null) return;
  rowsFrom.value = Math.max(0, Math.min(answer.total - answer.rows.length, rowsFrom.peek() + by));
}

let wheeled = 0;

export const pointerHandlers = {
  onPointerDown: down,
  onPointerMove: move,
  onPointerUp: up,
  onPointerCancel: end,
  onPointerLeave: (): void => {
    if (hoveredRow.peek() !== null) hoverSequence(null);
    hovered.value = null;
    point(null);
  },
  onWheel: (event: WheelEvent & { currentTarget: HTMLElement }): void => {
    event.preventDefault();
    if (!event.shiftKey) {
      zoom(Math.exp(event.deltaY * 0.002), pointIn(event.currentTarget, event).x);
      return;
    }
    // Some browsers turn a wheel with Shift into one to the side.
    wheeled += event.deltaY || event.deltaX;
    const rows = Math.trunc(wheeled / WHEEL);
    wheeled -= rows * WHEEL;
    scrollRows(rows);
  },
  onDblClick: showAll,
};
