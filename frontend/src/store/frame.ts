/** One requestAnimationFrame for everything that is drawn by hand. */

/** Draws; returns true when it wants to draw again in the next frame. */
export type Painter = (now: number) => boolean;

const painters = new Set<Painter>();
const after: (() => void)[] = [];
let pending = false;

function run(now: number): void {
  pending = false;
  let again = false;
  for (const painter of painters) again = painter(now) || again;
  for (const callback of after.splice(0)) callback();
  if (again) invalidate();
}

/** Something changed: draw in the next frame. */
export function invalidate(): void {
  if (pending) return;
  pending = true;
  requestAnimationFrame(run);
}

/** Draw in each frame that is asked for; returns how to stop. */
export function addPainter(painter: Painter): () => void {
  painters.add(painter);
  invalidate();
  return () => painters.delete(painter);
}

/** Call back once the next frame is drawn. */
export function afterFrame(callback: () => void): void {
  after.push(callback);
  invalidate();
}

const reducedQuery = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)');

/** Does the reader want no motion? */
export function reducedMotion(): boolean {
  return reducedQuery?.matches ?? false;
}
