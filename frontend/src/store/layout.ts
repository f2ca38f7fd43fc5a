/** Which panels are shown, and where the focus goes. */

import { signal } from '@preact/signals';
import { options } from 'preact';

export const left = signal<'tables' | 'scheduler' | 'playground'>('tables');
export const centre = signal<'map' | 'events'>('map');
export const keysShown = signal(false);

export type PanelName =
  | 'tables'
  | 'scheduler'
  | 'playground'
  | 'map'
  | 'events'
  | 'queue'
  | 'inspector'
  | 'timeline'
  | 'go';

/** Make a change and put it into the document at once, instead of after whatever else there is to do. */
export function renderNow(change: () => void): void {
  const before = options.debounceRendering;
  let render: (() => void) | undefined;
  options.debounceRendering = (wanted) => {
    render = wanted;
  };
  try {
    change();
    render?.();
  } finally {
    if (before === undefined) delete options.debounceRendering;
    else options.debounceRendering = before;
  }
}

/**
 * Put the focus on a panel, which `change` may bring up. It has the focus when this returns: the next key is already on
 * its way, and must find where it belongs.
 */
export function focusPanel(name: PanelName, change: () => void = () => {}): void {
  renderNow(change);
  document.querySelector<HTMLElement>(`[data-panel="${name}"]`)?.focus({ preventScroll: true });
}

export function showPanel(panel: 'tables' | 'scheduler' | 'playground' | 'map' | 'events'): void {
  focusPanel(panel, () => {
    if (panel === 'map' || panel === 'events') centre.value = panel;
    else left.value = panel;
  });
}
