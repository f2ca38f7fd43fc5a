/**
 * `window.kvarium`: what tests, and whoever is curious, can ask of the page. Always there.
 *
 *     await kvarium.ready()      once the view has a state and stands where it was asked to be
 *     await kvarium.state()      the whole state at the present position (the form of `tests/plain_state.py`)
 *     await kvarium.tree()       the whole prefix tree there: a node a content that blocks hold, in the order of contents
 *     kvarium.seek(step)         move the view to a step;  kvarium.follow()  to the live end
 *     kvarium.go(to)             move it to { kind: 'operation', operation }, { kind: 'record', record }, { kind: 'time', time }
 *     kvarium.light()            { colour, record, message } of the digest light
 *     kvarium.position()         { mode, record, step, op, … } as last drawn
 *     kvarium.mapShown()         { record, step, next, settled, verified, frame }: of which step the map on the canvas is,
 *                                which block it frames, whether the view stood there and its digest was compared, and the
 *                                time of the animation frame that drew it
 *     kvarium.shown(...names)    what stands behind each view, as the page was told it last: { map, tables, queue, tree, … }
 *     kvarium.select(what)       select { block }, { sequence }, { request }, a block beside one of these, or nothing
 *     await kvarium.bases()      { kept, left }: how many states the page has that a seek can tell the changes since, and
 *                                how many of a long recording it is yet to fetch
 *     kvarium.chips(element)     [{ block, shared, x, y }]: the blocks that are drawn as chips within an element, by the middle
 *                                of each in the window
 *     kvarium.lanes()            { rows, holes, isLoading, … }: what each request did in the steps of the timeline, and in `tops` the
 *                                place of each row in the window; null: it is not known yet
 *     kvarium.mapPixels()        { blocks, rgba, expected }: the map read back from the GPU, without glow
 */

import type { PlainState } from './ledger/plain';
import { follow, jumpTo } from './store/clock';
import { ask, lanes, light, position, whenDrawn } from './store/ledger';
import { NOTHING, type Selection, selection } from './store/selection';
import { type ShownName, type ShownState, shownState } from './store/shown';
import { chipsIn, type ShownChip } from './views/ChipSheet';
import { mapPixels, mapShown, type Shown } from './views/map/MemoryMap';
import type { Pixels } from './views/map/renderer';
import { placesOfRows } from './views/timeline/Timeline';
import type { LanesAnswer } from './worker/lanes';
import type { Destination } from './worker/place';
import type { BasesKept, Light, Position } from './worker/protocol';
import type { PlainNode } from './worker/tree/plain';

export interface Hook {
  ready(): Promise<boolean>;
  state(): Promise<PlainState>;
  tree(): Promise<PlainNode[]>;
  seek(step: number): Promise<boolean>;
  go(to: Destination): Promise<boolean>;
  follow(): void;
  light(): Light;
  position(): Position;
  shown(...names: ShownName[]): ShownState;
  select(what: Partial<Selection>): void;
  bases(): Promise<BasesKept>;
  chips(element: Element): ShownChip[];
  lanes(): (LanesAnswer & { readonly tops: readonly { x: number; y: number }[] }) | null;
  mapPixels(): Pixels;
  mapShown(): Shown | null;
}

declare global {
  interface Window {
    kvarium: Hook;
  }
}

async function go(to: Destination): Promise<boolean> {
  await ask('ready');
  jumpTo(to);
  await ask('ready');
  await whenDrawn();
  return true;
}

export function installHook(): void {
  window.kvarium = {
    async ready() {
      await ask('ready');
      await whenDrawn();
      return true;
    },
    state: () => ask('state') as Promise<PlainState>,
    tree: () => ask('tree') as Promise<PlainNode[]>,
    seek: (step) => go({ kind: 'step', step }),
    go,
    follow,
    light: () => light.value,
    position: () => position.value,
    shown: shownState,
    select: (what) => {
      selection.value = { ...NOTHING, ...what };
    },
    bases: () => ask('bases') as Promise<BasesKept>,
    chips: chipsIn,
    lanes: () => {
      const answer = lanes.value;
      return answer === null ? null : { ...answer, tops: placesOfRows(answer) };
    },
    mapPixels,
    mapShown,
  };
}
