/**
 * One requestAnimationFrame for everything that is drawn by hand.
 *
 *     gate ─ open ─→ take what the worker said (signals) ─→ painters ─→ the document, in a microtask ─→ the screen
 *       └─ closed: a slow map is not drawn in this frame, so what is shown stays as it is, all of it
 *
 * So whatever a frame shows of a view is of one step, and each part of the page shows one step wholly. What stands beside the
 * picture may follow in the frames after it, a part a frame (`rota.ts`): where the reader moves the view, as each place is
 * waited for, and where all at once would keep the page from anything else for too long.
 */

/**
 * Draws, unless the gate is closed for what is costly; returns true when it wants to draw again in the next frame. `full`: this
 * frame has something of a view to show, so that what can wait for the next one should.
 */
export type Painter = (now: number, open: boolean, full: boolean) => boolean;

const painters = new Set<Painter>();
const before: (() => void)[] = [];
const soon: (() => void)[] = [];
const after: (() => void)[] = [];
let pending = false;
let gate: ((now: number) => boolean) | null = null;

function run(now: number): void {
  pending = false;
  const open = gate === null || gate(now);
  // What is asked for by one of these is for the next frame.
  const due = soon.splice(0);
  const full = due.length > 0 || (open && before.length > 0);
  if (open) for (const callback of before.splice(0)) callback();
  for (const callback of due) callback();
  let again = before.length > 0 || soon.length > 0;
  for (const painter of painters) again = painter(now, open, full) || again;
  for (const callback of after.splice(0)) callback();
  if (again) invalidate();
}

/** Who draws slowly may put off frames. */
export function setGate(next: ((now: number) => boolean) | null): void {
  gate = next;
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

/** Call back at the beginning of the next frame that the gate lets through, before anything of it is drawn. */
export function beforeFrame(callback: () => void): void {
  before.push(callback);
  invalidate();
}

/** Call back at the beginning of the next frame, whatever the gate says: for what leaves the map as it is. */
export function inNextFrame(callback: () => void): void {
  soon.push(callback);
  invalidate();
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
