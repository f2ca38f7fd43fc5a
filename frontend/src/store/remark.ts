/** A remark for the reader that stands above the panels until it is read: what came of a command, an address that is wrong. */

import { signal } from '@preact/signals';

export interface Remark {
  readonly told: string;
  readonly isError: boolean;
}

export const remark = signal<Remark | null>(null);

/** ms for which a remark stands there; an error stays until it is dismissed. */
const READ = 8000;

export function say(told: string, isError = false): void {
  const said: Remark = { told, isError };
  remark.value = said;
  if (isError) return;
  setTimeout(() => {
    if (remark.peek() === said) remark.value = null;
  }, READ);
}
