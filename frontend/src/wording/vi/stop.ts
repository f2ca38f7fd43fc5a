/** Một chuỗi dừng ở đâu: `wording/stop.ts` in Vietnamese. */

import type { stop as english } from '../stop';

export const stop: typeof english = (by) => {
  if (by == null) return '';
  return typeof by === 'number' ? ` ở token ${by}` : ` ở ${JSON.stringify(by)}`;
};
