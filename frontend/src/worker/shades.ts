/**
 * By what the memory map is coloured. Beside the state, each is a small class of a block, its *shade*, which the worker finds and
 * puts into the block's word (`word.ts`); the page gives shades their colours, and the legend their names.
 *
 *     state     free, cached, active, shared: these are in the word anyway, there are no shades
 *     refs      ref count                             0 | 1 | 2 | 3–4 | 5–8 | 9–16 | 17 and more
 *     owner     the request of its first holder       a shade a request
 *     recency   steps since its last operation        0 | 1–3 | 4–15 | 16–63 | 64–255 | 256 and more
 *     hits      prefix hits of its content            as ref counts
 *     queue     place in the free queue, the head 1   none | 1–16 | 17–64 | 65–256 | 257–1,024 | 1,025–4,096 | later
 *     depth     blocks of its prompt up to it         no content | 1 | 2–3 | 4–7 | 8–15 | 16–63 | 64 and more
 */

export const COLOURINGS = ['state', 'refs', 'owner', 'recency', 'hits', 'queue', 'depth'] as const;
export type Colouring = (typeof COLOURINGS)[number];
/** Those whose shades are parts of a scale. */
export type Scaled = Exclude<Colouring, 'state' | 'owner'>;

/** The least value of each of the shades 1 to 6; what has less, or no value, has shade 0. */
export const EDGES: Readonly<Record<Scaled, readonly number[]>> = {
  refs: [1, 2, 3, 5, 9, 17],
  recency: [0, 1, 4, 16, 64, 256],
  hits: [1, 2, 3, 5, 9, 17],
  queue: [1, 17, 65, 257, 1025, 4097],
  depth: [1, 2, 4, 8, 16, 64],
};

/** What it is can't be told of what is here. */
export const UNKNOWN_SHADE = 7;
/** Shades of a scale: 0, six parts, and that. */
export const SHADES = 8;

/** The shade of each value below the last edge; from there on it is the last one's. */
function binsOf(edges: readonly number[]): Uint8Array {
  return Uint8Array.from({ length: edges.at(-1)! + 1 }, (_, value) => edges.filter((e) => e <= value).length);
}

export const BINS: Readonly<Record<Scaled, Uint8Array>> = {
  refs: binsOf(EDGES.refs),
  recency: binsOf(EDGES.recency),
  hits: binsOf(EDGES.hits),
  queue: binsOf(EDGES.queue),
  depth: binsOf(EDGES.depth),
};

// -- owners -----------------------------------------------------------------------------------------------------------

/** Nobody holds it, and it has no content or has some; it is held, but by no sequence; the selected request has it. */
export const Owner = { free: 0, cached: 1, pinned: 2, selected: 3 } as const;
const FIRST_OWNER = 4;
/** A multiple of the colours that owners have, and as many as there is room for: requests so far apart share a shade. */
const OWNERS = 4088;

export function ownerShade(request: number): number {
  return FIRST_OWNER + (request % OWNERS);
}

/** Which of so many colours the owner of a shade has: requests that came one after the other have different ones. */
export function ownerColour(shade: number, colours: number): number {
  return (shade - FIRST_OWNER) % colours;
}

export function isOwner(shade: number): boolean {
  return shade >= FIRST_OWNER;
}

/** A request, and how many blocks have it as their owner. */
export interface Owned {
  readonly request: number;
  readonly blocks: number;
}

/** What the legend says beside colours: of which the counts are is told with the map. */
export interface Shading {
  readonly colouring: Exclude<Colouring, 'state'>;
  /** Blocks by shade; of owners only the shades that are no request's. */
  readonly tally: Uint32Array;
  /** Those that own the most blocks first, the selected one before all. */
  readonly owners: readonly Owned[];
  /** All requests that own blocks. */
  readonly ownerCount: number;
  /** The request that is selected; null: none is. */
  readonly selected: number | null;
}
