/**
 * What can be zoomed, moved sideways, or brought to show the selection: the map, the timeline, lists.
 *
 * Each says so while it is on the page ({@link addSurface}). W, A, S and D reach the one that had the pointer or the focus
 * last; F reaches all of them.
 */

export interface Surface {
  /** Show less (a factor above 1) or more (below 1), around the pointer where it is on the surface. */
  readonly zoom?: (factor: number) => void;
  /** Move what is shown by a part of its width; above 0 to the right. */
  readonly pan?: (part: number) => void;
  /** Bring what is selected into view, if it is here. */
  readonly reveal?: () => void;
}

const surfaces = new Map<Element, Surface>();
let latest: Element | null = null;

function notice({ target }: Event): void {
  for (let at = target instanceof Element ? target : null; at !== null; at = at.parentElement) {
    if (surfaces.get(at)?.zoom !== undefined) {
      latest = at;
      return;
    }
  }
}

/** Take part; returns how to stop. */
export function addSurface(element: Element, surface: Surface): () => void {
  surfaces.set(element, surface);
  return () => {
    surfaces.delete(element);
    if (latest === element) latest = null;
  };
}

/** Where the one stands that W, A, S and D move: of those that had neither pointer nor focus yet, the first. */
export function movedElement(): Element | null {
  if (latest !== null) return latest;
  for (const [element, surface] of surfaces) if (surface.zoom !== undefined) return element;
  return null;
}

/** What stands there now, as it was last added. */
export function surfaceAt(element: Element | null): Surface | null {
  return element === null ? null : (surfaces.get(element) ?? null);
}

export function revealSelection(): void {
  for (const surface of surfaces.values()) surface.reveal?.();
}

export function startSurfaces(): void {
  window.addEventListener('pointerover', notice);
  window.addEventListener('focusin', notice);
}
