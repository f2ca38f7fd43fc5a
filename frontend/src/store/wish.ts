/** What the address asks for of a live session: `?text=none&rate=4`. */

import type { Wish } from '../worker/source';

/** What a server takes, in bursts a second. */
const SLOWEST = 0.1;
const FASTEST = 60;

function rateOf(said: string | null): number | null {
  const rate = said !== null && /^\d{1,6}(\.\d{1,6})?$/.test(said) ? Number(said) : 0;
  return rate >= SLOWEST && rate <= FASTEST ? rate : null;
}

/** What is asked for; what can't be asked for is left out. */
export function readWish(search: string): Wish {
  const query = new URLSearchParams(search);
  return { text: query.get('text') !== 'none', rate: rateOf(query.get('rate')) };
}

/** What stands in an address and can't be asked for, as it stands there; null: nothing. */
export function wrongWish(search: string): string | null {
  const query = new URLSearchParams(search);
  const [said, rate] = [query.get('text'), query.get('rate')];
  if (said !== null && said !== 'none' && said !== 'full') return `text=${said}`;
  return rate !== null && rateOf(rate) === null ? `rate=${rate}` : null;
}

/** Into the query of an address. */
export function writeWish(wish: Wish, query: URLSearchParams): void {
  if (!wish.text) query.set('text', 'none');
  if (wish.rate !== null) query.set('rate', String(wish.rate));
}
