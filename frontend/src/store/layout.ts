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

/** Put the focus on a panel: at once where it is drawn, so that nothing that is typed goes astray, else when it is. */
export function focusPanel(name: PanelName): void {
  const focus = (): boolean => {
    const found = document.querySelector<HTMLElement>(`[data-panel="${name}"]`);
    found?.focus({ preventScroll: true });
    return found !== null;
  };
  if (!focus()) setTimeout(focus);
}
