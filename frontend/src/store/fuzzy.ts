/**
 * How well what was typed fits a title: every word of it must be there, its letters in order, whole and at the beginning of
 * words if they can be.
 *
 *     "mem"  Memory map          "nl"  Next landmark of the chosen kind          "map mem"  Memory map
 *             ^^^                       ^    ^                                                ^^^    ^^^
 */

export interface Fit {
  /** The higher, the better. */
  readonly score: number;
  /** Places of the letters that were found, in order. */
  readonly places: readonly number[];
}

const LETTER = 1;
const WORD_START = 8;
const NEXT = 9;
/** What is lost with each letter that lies before the first one found. */
const LATE = 0.05;
const NONE = Number.NEGATIVE_INFINITY;

function startsWord(title: string, at: number): boolean {
  return at === 0 || (/[\p{L}\p{N}]/u.test(title[at]!) && !/[\p{L}\p{N}]/u.test(title[at - 1]!));
}

/** One word: the best way to find its letters in order; null: they are not all there. */
function fitWord(word: string, title: string): Fit | null {
  let at = -1;
  for (const letter of word) {
    at = title.indexOf(letter, at + 1);
    if (at < 0) return null;
  }
  // best[i][j]: of the letters up to i, with letter i found at j. from[i][j]: where the letter before it was.
  const best: number[][] = [];
  const from: number[][] = [];
  for (let i = 0; i < word.length; i++) {
    best.push(new Array<number>(title.length).fill(NONE));
    from.push(new Array<number>(title.length).fill(-1));
    let before = NONE;
    let beforeAt = -1;
    for (let j = i; j < title.length; j++) {
      const last = j > 0 ? (best[i - 1]?.[j - 1] ?? NONE) : NONE;
      if (last > before) [before, beforeAt] = [last, j - 1];
      if (title[j] !== word[i]) continue;
      const own = LETTER + (startsWord(title, j) ? WORD_START : 0);
      if (i === 0) {
        best[i]![j] = own - LATE * j;
        continue;
      }
      const joined = last + NEXT;
      const [score, place] = joined >= before ? [joined, j - 1] : [before, beforeAt];
      best[i]![j] = own + score;
      from[i]![j] = place;
    }
  }
  const ends = best.at(-1)!;
  let place = 0;
  for (let j = 1; j < ends.length; j++) if (ends[j]! > ends[place]!) place = j;
  const score = ends[place]!;
  const places: number[] = [];
  for (let i = word.length - 1; i >= 0; i--) {
    places.unshift(place);
    place = from[i]![place]!;
  }
  return { score, places };
}

/** null: it does not fit. Nothing typed fits everything. */
export function fitOf(typed: string, title: string): Fit | null {
  const lower = title.toLowerCase();
  const places = new Set<number>();
  let score = 0;
  for (const word of typed.toLowerCase().split(/\s+/)) {
    if (word === '') continue;
    const found = fitWord(word, lower);
    if (found === null) return null;
    score += found.score;
    for (const place of found.places) places.add(place);
  }
  // Of two that fit alike, the shorter is nearer to what was meant.
  return { score: score - title.length / 100, places: [...places].sort((a, b) => a - b) };
}
