/**
 * The colours of the map's words: a table of pixels, in which some bits of a word are the place.
 *
 *     states   bits 0-1, four colours           shades   bits 20-31, as many as there are
 *
 * What the legend does not light is dimmed here: so nothing that draws need know of it.
 */

import {
  type Colouring,
  isOwner,
  Owner,
  ownerColour,
  ownerShade,
  SHADES,
  UNKNOWN_SHADE,
} from '../../worker/shades';
import { SHADE_AT } from '../../worker/word';
import { OWNER_COLOURS, type Palette, rgb, SCALE_COLOURS, STATE_COLOURS } from '../palette';

/** All places that the bits of a shade can tell. */
const PLACES = 1 << (32 - SHADE_AT);
/** How much of a colour is left where it is dimmed. */
const DIMMED = 0.13;
const SCALED_NEWEST_FIRST: ReadonlySet<Colouring> = new Set<Colouring>(['recency', 'queue']);

/** Which entries of a legend are lit; null: all are. In place of shades of owners the requests, behind the shades of a scale. */
export type Lit = ReadonlySet<number> | null;

export class Colours {
  readonly shift: number;
  readonly mask: number;
  /** Pixels as machines that browsers run on have them: red the lowest byte, all opaque. */
  readonly pixels: Uint32Array;
  /** Is a place dimmed? */
  readonly dim: Uint8Array;

  constructor(
    readonly colouring: Colouring,
    readonly palette: Palette,
    lit: Lit,
    /** The request that stands out among owners. */
    selected: number | null,
  ) {
    const isState = colouring === 'state';
    this.shift = isState ? 0 : SHADE_AT;
    const places = isState ? 4 : colouring === 'owner' ? PLACES : SHADES;
    this.mask = places - 1;
    this.dim = new Uint8Array(places);
    if (lit !== null) this.dim.fill(1);
    for (const entry of lit ?? []) {
      const request = entry - SHADES;
      const place = request < 0 ? entry : request === selected ? Owner.selected : ownerShade(request);
      this.dim[place] = 0;
    }
    const ground = rgb(palette.bg);
    this.pixels = Uint32Array.from({ length: places }, (_, place) => {
      const colour = rgb(palette[nameOf(colouring, place)]);
      const part = this.dim[place] === 1 ? DIMMED : 1;
      const [red, green, blue] = colour.map((each, i) => Math.round(each * part + ground[i]! * (1 - part)));
      return (0xff000000 | red! | (green! << 8) | (blue! << 16)) >>> 0;
    });
  }

  get isState(): boolean {
    return this.shift === 0;
  }

  /** Where the colour of a word is in the table. */
  place(word: number): number {
    return (word >>> this.shift) & this.mask;
  }
}

/** The name of a colour: of a class of states, or of a shade. */
export function nameOf(colouring: Colouring, place: number): keyof Palette {
  if (colouring === 'state') return STATE_COLOURS[place]!;
  if (colouring === 'owner') {
    if (isOwner(place)) return OWNER_COLOURS[ownerColour(place, OWNER_COLOURS.length)]!;
    if (place === Owner.selected) return 'o-selected';
    return place === Owner.pinned ? 'm-unknown' : STATE_COLOURS[place]!;
  }
  if (place === 0) return 's-free';
  if (place >= UNKNOWN_SHADE) return 'm-unknown';
  // The head of the queue and what just happened are what is looked for.
  return SCALE_COLOURS[SCALED_NEWEST_FIRST.has(colouring) ? SCALE_COLOURS.length - place : place - 1]!;
}

let last: { readonly of: readonly unknown[]; readonly colours: Colours } | null = null;

/** The same as long as nothing of it changed: who draws may compare. */
export function coloursOf(
  ...of: readonly [colouring: Colouring, palette: Palette, lit: Lit, selected: number | null]
): Colours {
  if (last === null || of.some((each, i) => each !== last?.of[i])) last = { of, colours: new Colours(...of) };
  return last.colours;
}
