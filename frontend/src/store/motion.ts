/**
 * Zooming and moving for as long as a key is held: smoothly, a little in each frame; for who wants no motion in single
 * steps, one each time that the key repeats.
 */

import { addPainter, reducedMotion } from './frame';
import { movedElement, surfaceAt } from './surfaces';

export type Motion = 'zoomIn' | 'zoomOut' | 'panLeft' | 'panRight';

/** A second of holding shows so many times less, or moves on by so many widths. */
const ZOOM_A_SECOND = 8;
const WIDTHS_A_SECOND = 0.8;
/** ms for which the shortest press moves. */
const LEAST = 90;
/** ms that a frame counts for at most: what moves must not leap when the page was busy. */
const LONGEST_FRAME = 60;
/** ms that a single step stands for, without motion. */
const STEP = 160;

interface Press {
  /** What had the focus or the pointer when the key went down: it alone is moved, though the focus goes on. */
  readonly element: Element | null;
  readonly from: number;
  isHeld: boolean;
}

const presses = new Map<Motion, Press>();
let before = 0;
let stop: (() => void) | null = null;

function move(element: Element | null, motion: Motion, ms: number): void {
  const surface = surfaceAt(element);
  const seconds = ms / 1000;
  if (motion === 'zoomIn') surface?.zoom?.(ZOOM_A_SECOND ** seconds);
  else if (motion === 'zoomOut') surface?.zoom?.(ZOOM_A_SECOND ** -seconds);
  else surface?.pan?.((motion === 'panLeft' ? -1 : 1) * WIDTHS_A_SECOND * seconds);
}

function paint(): boolean {
  const now = performance.now();
  const ms = Math.min(LONGEST_FRAME, now - before);
  before = now;
  for (const [motion, press] of presses) {
    move(press.element, motion, ms);
    if (!press.isHeld && now - press.from >= LEAST) presses.delete(motion);
  }
  if (presses.size > 0) return true;
  stop?.();
  stop = null;
  return false;
}

/** A key went down, or repeats. */
export function press(motion: Motion): void {
  if (reducedMotion()) {
    move(movedElement(), motion, STEP);
    return;
  }
  const held = presses.get(motion);
  if (held !== undefined) {
    held.isHeld = true;
    return;
  }
  if (presses.size === 0) before = performance.now();
  presses.set(motion, { element: movedElement(), from: performance.now(), isHeld: true });
  stop ??= addPainter(paint);
}

/** It came up again. */
export function release(motion: Motion): void {
  const held = presses.get(motion);
  if (held !== undefined) held.isHeld = false;
}

/** Whatever is held: the page lost the keyboard. */
export function releaseAll(): void {
  for (const press of presses.values()) press.isHeld = false;
}
