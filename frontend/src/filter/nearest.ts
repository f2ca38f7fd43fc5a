/** What somebody may have meant who typed a name that is none. */

/** How many letters are to be put in, left out, changed or swapped with their neighbours to make one word the other. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(change, last[j]! + 1, row[j - 1]! + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}

/** At most so many letters are wrong. */
const MOST_WRONG = 2;

/** The first of the names that begin so, else of those that are nearest to what was said; undefined: none is near. */
export function nearest(said: string, names: readonly string[]): string | undefined {
  let best = said.length > 1 ? names.find((name) => name.startsWith(said)) : undefined;
  if (best !== undefined) return best;
  let least = Math.min(MOST_WRONG, said.length - 1) + 1;
  for (const name of names) {
    const wrong = distance(said, name);
    if (wrong < least) {
      least = wrong;
      best = name;
    }
  }
  return best;
}
