/** Very wide windows are shown larger: their pixels are small, or their reader sits far away. */

import { invalidate } from './frame';

function zoomFor(width: number): number {
  return width >= 3200 ? 1.5 : width >= 2400 ? 1.2 : 1;
}

/** How much larger than its style sheet the page is drawn. */
export let zoom = 1;

/** Device pixels a CSS pixel of the page. */
export function pixelRatio(): number {
  return devicePixelRatio * zoom;
}

/** Where a pointer is in an element, in CSS pixels of the page. */
export function pointIn(element: Element, event: MouseEvent): { x: number; y: number } {
  const box = element.getBoundingClientRect();
  return { x: (event.clientX - box.left) / zoom, y: (event.clientY - box.top) / zoom };
}

export function startScale(root: HTMLElement): void {
  const apply = (): void => {
    zoom = zoomFor(innerWidth);
    root.style.setProperty('zoom', String(zoom));
    invalidate();
  };
  addEventListener('resize', apply);
  apply();
}
