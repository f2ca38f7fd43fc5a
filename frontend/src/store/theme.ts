/** Dark by default, light where the system asks for it, and the reader's own choice above both. */

import { computed, effect, signal } from '@preact/signals';
import { MONO } from '../views/fonts';
import { PALETTES } from '../views/palette';
import { invalidate } from './frame';

export type Theme = 'dark' | 'light';
const KEY = 'kvarium.theme';
const system = globalThis.matchMedia?.('(prefers-color-scheme: light)');

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'dark' || value === 'light' ? value : null;
  } catch {
    return null;
  }
}

const choice = signal<Theme | null>(stored());
const systemLight = signal(system?.matches ?? false);
system?.addEventListener('change', (event) => {
  systemLight.value = event.matches;
});

export const theme = computed<Theme>(() => choice.value ?? (systemLight.value ? 'light' : 'dark'));
export const palette = computed(() => PALETTES[theme.value]);

export function toggleTheme(): void {
  choice.value = theme.value === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem(KEY, choice.value);
  } catch {
    // A page without storage forgets the choice, and that is all.
  }
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
