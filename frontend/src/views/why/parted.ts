/** Two texts that begin alike, in what they share and what not. */

import type { Nearest } from '../../store/generated/answers';

export interface Parted {
  readonly same: string;
  readonly left: string;
  readonly right: string;
}

/** How many characters two texts share at their beginning, no half of one among them. */
function shared(a: readonly string[], b: readonly string[]): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

/** As text where that is known, else as the numbers of the tokens. */
export function parted({ own, cached, own_text, cached_text, agree, first }: Nearest): Parted {
  if (own_text !== null && cached_text !== null) {
    const [a, b] = [[...own_text], [...cached_text]];
    const at = shared(a, b);
    return { same: a.slice(0, at).join(''), left: a.slice(at).join(''), right: b.slice(at).join('') };
  }
  const at = (agree ?? 0) - (first ?? 0);
  const told = (tokens: readonly number[] | null, from: number, to?: number): string =>
    (tokens ?? [])
      .slice(from, to)
      .map((token) => `${token} `)
      .join('');
  return { same: told(own, 0, at), left: told(own, at), right: told(cached, at) };
}
