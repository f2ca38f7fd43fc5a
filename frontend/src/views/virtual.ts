/** A list of which only what can be seen is in the document. */

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';

type Options = Pick<
  VirtualizerOptions<HTMLElement, HTMLElement>,
  'count' | 'estimateSize' | 'getScrollElement'
> &
  Partial<VirtualizerOptions<HTMLElement, HTMLElement>>;

/** The virtualizer of a scrolling element; sizes are asked for anew whenever `sizes` changes. */
export function useVirtual(options: Options, sizes: unknown): Virtualizer<HTMLElement, HTMLElement> {
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  const full: VirtualizerOptions<HTMLElement, HTMLElement> = {
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    overscan: 4,
    ...options,
    onChange: () => rerender(undefined as never),
  };
  const reference = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  reference.current ??= new Virtualizer(full);
  const virtualizer = reference.current;
  const measured = useRef<unknown>(undefined);
  if (measured.current !== sizes) {
    measured.current = sizes;
    // It is being rendered already: nothing is to be told.
    virtualizer.setOptions({ ...full, onChange: () => {} });
    virtualizer.measure();
  }
  virtualizer.setOptions(full);
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
