/** Dark by default, light where the system asks for it, and the reader's own choice above both. */

import { computed, effect, signal } from '@preact/signals';
import { MONO } from '../views/fonts';
import { PALETTES } from '../views/palette';
import { invalidate } from './frame';
import { keep, recall } from './kept';

export type Theme = 'dark' | 'light';
const system = globalThis.matchMedia?.('(prefers-color-scheme: light)');

function stored(): Theme | null {
  const value = recall('theme');
  return value === 'dark' || value === 'light' ? value : null;
}

const choice = signal<Theme | null>(stored());
const systemLight = signal(system?.matches ?? false);
system?.addEventListener('change', (event) => {
  systemLight.value = event.matches;
});

export const theme = computed<Theme>(() => choice.value ?? (systemLight.value ? 'light' : 'dark'));
export const palette = computed(() => PALETTES[theme.value]);

/** null: as the system has it. */
export function setTheme(next: Theme | null): void {
  choice.value = next;
  keep('theme', next);
}

export function toggleTheme(): void {
  setTheme(theme.value === 'dark' ? 'light' : 'dark');
}

export function startTheme(): void {
  effect(() => {
    const root = document.documentElement;
    root.dataset.theme = theme.value;
    root.style.setProperty('--mono', MONO);
    for (const [name, colour] of Object.entries(palette.value)) root.style.setProperty(`--${name}`, colour);
    invalidate();
  });
}
