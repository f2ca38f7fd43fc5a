/**
 * How large the panels are that have an edge to be dragged, in CSS pixels of the page; kept from one visit to the next.
 *
 *     ┌──────┬──────────────┬───────────┐
 *     │ left │    centre    │ inspector │      the centre has what is left
 *     │      ├──────────────┤           │
 *     │      │    queue     │           │
 *     ├──────┴──────────────┴───────────┤
 *     │            timeline             │
 *     └─────────────────────────────────┘
 *
 * A panel that was not sized has the size that the style sheet gives it. One that was is held between its least size and its
 * share of what it stands in, whatever the window is: so the sizes of a large screen do no harm on a small one.
 */

import { computed, signal } from '@preact/signals';
import { keep, recallJson } from './kept';
import { left } from './layout';

export type Sized = 'left' | 'playground' | 'inspector' | 'timeline' | 'queue';

interface Limits {
  readonly least: number;
  /** Of the width, or the height, that it shares with the panels beside it. */
  readonly share: number;
}

export const LIMITS: Readonly<Record<Sized, Limits>> = {
  left: { least: 220, share: 0.42 },
  playground: { least: 280, share: 0.42 },
  inspector: { least: 240, share: 0.36 },
  timeline: { least: 140, share: 0.5 },
  queue: { least: 62, share: 0.5 },
};

type Sizes = Readonly<Partial<Record<Sized, number>>>;

function isSizes(value: unknown): value is Sizes {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(([name, size]) => name in LIMITS && Number.isFinite(size))
  );
}

const sizes = signal<Sizes>(recallJson('sizes', isSizes, {}));

/** The left column has a size for the playground and one for everything else. */
export const leftSized = computed<'left' | 'playground'>(() =>
  left.value === 'playground' ? 'playground' : 'left',
);

/** null: as the style sheet has it. */
export function resize(panel: Sized, size: number | null): void {
  const { [panel]: _, ...others } = sizes.peek();
  sizes.value = size === null ? others : { ...others, [panel]: Math.round(size) };
  keep('sizes', JSON.stringify(sizes.peek()));
}

/** As custom properties of the page: `--left-size: clamp(200px, 312px, 42%)`. */
export const sizeStyle = computed<Readonly<Record<string, string>>>(() => {
  const style: Record<string, string> = {};
  for (const panel of [leftSized.value, 'inspector', 'timeline', 'queue'] as const) {
    const size = sizes.value[panel];
    const { least, share } = LIMITS[panel];
    const name = panel === 'playground' ? 'left' : panel;
    if (size !== undefined) style[`--${name}-size`] = `clamp(${least}px, ${size}px, ${100 * share}%)`;
  }
  return style;
});
