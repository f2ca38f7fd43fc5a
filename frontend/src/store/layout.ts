/** Which panels are shown, and where the focus goes. */

import { signal } from '@preact/signals';

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
  | 'timeline';

/** Put the focus on a panel, once it is drawn. */
export function focusPanel(name: PanelName): void {
  setTimeout(() =>
    document.querySelector<HTMLElement>(`[data-panel="${name}"]`)?.focus({ preventScroll: true }),
  );
}
