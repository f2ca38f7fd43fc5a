/**
 * Which panels are shown, and where the focus goes.
 *
 * A column shows one of several panels. Each of these has a key here, a name and a command in `wording/`, and a view in
 * `views/Left.tsx` or `views/Centre.tsx`: the compiler asks for them.
 */

import { signal } from '@preact/signals';
import { options } from 'preact';
import { keepInAddress } from './address';
import { isEmbedded } from './embedded';

/** The panels of the left column, in order, and the keys that bring them up. */
export const LEFT_KEYS = { tables: '1', scheduler: '2', playground: 'p' } as const;
/** The panels of the centre, in order, and the keys that bring them up. */
export const CENTRE_KEYS = { map: '3', tree: '4', events: '5', sql: '9', findings: 'i' } as const;
/** The panels that are always there, and the keys that put the focus on them. */
export const FIXED_KEYS = { queue: '6', inspector: '7', timeline: '8' } as const;

export type LeftPanel = keyof typeof LEFT_KEYS;
export type CentrePanel = keyof typeof CENTRE_KEYS;
export type FixedPanel = keyof typeof FIXED_KEYS;
export type PanelName = LeftPanel | CentrePanel | FixedPanel | 'go';

/** What is sent from the playground needs a server that takes it to an engine, and SQL one that asks the recording. */
const NEEDS_SERVER: ReadonlySet<PanelName> = new Set<PanelName>(['playground', 'sql']);

function namesOf<T extends PanelName>(keys: Readonly<Record<T, string>>): readonly T[] {
  return (Object.keys(keys) as T[]).filter((name) => !isEmbedded || !NEEDS_SERVER.has(name));
}

export const LEFT_PANELS = namesOf(LEFT_KEYS);
export const CENTRE_PANELS = namesOf(CENTRE_KEYS);

export const left = signal<LeftPanel>('tables');
export const centre = signal<CentrePanel>('map');
export const keysShown = signal(false);
export const paletteShown = signal(false);

/** A column keeps the panel that it shows in the address; the first one goes without saying. */
function keepPanel<T extends string>(name: string, shown: { value: T }, panels: readonly T[]): void {
  const first = panels[0]!;
  keepInAddress({
    name,
    now: () => (shown.value === first ? null : shown.value),
    take: (said) => {
      const panel = panels.find((each) => each === (said ?? first));
      shown.value = panel ?? first;
      return panel !== undefined;
    },
    isEntry: true,
  });
}

keepPanel('left', left, LEFT_PANELS);
keepPanel('centre', centre, CENTRE_PANELS);

/** The field that filters the panel in which the focus is, or else that of the centre, or of the left column. */
export function filterField(): HTMLElement | null {
  const here = document.activeElement?.closest('.panel');
  const panels = [here, ...['.centre', '.left'].map((each) => document.querySelector(each))];
  for (const panel of panels) {
    const field = panel?.querySelector<HTMLElement>('[data-filter]');
    if (field) return field;
  }
  return null;
}

export function focusFilter(): void {
  filterField()?.focus();
}

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

function isLeft(panel: LeftPanel | CentrePanel): panel is LeftPanel {
  return panel in LEFT_KEYS;
}

export function showPanel(panel: LeftPanel | CentrePanel): void {
  focusPanel(panel, () => {
    if (isLeft(panel)) left.value = panel;
    else centre.value = panel;
  });
}
