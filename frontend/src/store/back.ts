/** What failed because the server did not answer is done again once it does, by itself. */

import { apiUrl } from './sessions';

/** ms from one look for the server to the next. */
const EACH = 2000;
const waiting = new Map<string, () => void>();
let isLooking = false;

/** Do something once the server answers; of the same name only the last. */
export function whenBack(name: string, run: () => void): void {
  waiting.set(name, run);
  if (isLooking) return;
  isLooking = true;
  setTimeout(() => void look(), EACH);
}

async function look(): Promise<void> {
  const isBack = await fetch(apiUrl('health')).then(
    () => true,
    () => false,
  );
  if (!isBack) {
    setTimeout(() => void look(), EACH);
    return;
  }
  isLooking = false;
  const all = [...waiting.values()];
  waiting.clear();
  for (const run of all) run();
}
