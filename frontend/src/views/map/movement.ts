/** Where the map is looked at: the one camera, what moves it, and where the pointer is over it. */

import { signal } from '@preact/signals';
import { invalidate } from '../../store/frame';
import { picture } from '../../store/picture';
import { hoverBlock, selection } from '../../store/selection';
import { Camera } from './camera';

export const camera = new Camera();
export const zoomed = signal(false);
/** Counts what the camera did: what is laid over the map follows. */
export const moves = signal(0);
/** The pointer on the map, in device pixels; null: it is not on it. */
let pointer: { readonly x: number; readonly y: number } | null = null;
export const pointerOnMap = signal(false);

/** The block at a device pixel, or null. */
export function blockAt(x: number, y: number): number | null {
  const cell = camera.pick(x, y);
  return cell === null ? null : picture.blockAt(cell);
}

export function point(x: number, y: number): void {
  pointer = { x, y };
  pointerOnMap.value = true;
  hoverBlock(blockAt(x, y));
}

export function pointAway(): void {
  pointer = null;
  pointerOnMap.value = false;
}

/** The camera moved: another block is under the pointer. */
export function moved(): void {
  zoomed.value = !camera.fitted;
  moves.value++;
  repoint();
  invalidate();
}

/** Another block lies where the pointer is. */
export function repoint(): void {
  if (pointer !== null) hoverBlock(blockAt(pointer.x, pointer.y));
}

export function zoomAt(factor: number, x: number, y: number): void {
  camera.zoom(factor, x, y);
  moved();
}

/** By key or button: towards the selected block where it is in sight, else towards the middle. */
export function zoomBy(factor: number): void {
  const { block } = selection.peek();
  let [x, y] = [camera.width / 2, camera.height / 2];
  if (block !== null) {
    const at = camera.place(picture.cellOf(block));
    const [cx, cy] = [at.x + camera.scale / 2, at.y + camera.scale / 2];
    if (cx >= 0 && cy >= 0 && cx < camera.width && cy < camera.height) [x, y] = [cx, cy];
  }
  zoomAt(factor, x, y);
}

/** By a held key: around the pointer where it is on the map. */
export function zoomOn(factor: number): void {
  if (pointer !== null) zoomAt(factor, pointer.x, pointer.y);
  else zoomBy(factor);
}

export function panBy(part: number): void {
  camera.pan(-part * camera.width, 0);
  moved();
}

export function reveal(): void {
  const { block } = selection.peek();
  if (block === null) return;
  camera.show(picture.cellOf(block));
  moved();
}

export function fit(): void {
  camera.fit();
  moved();
}
