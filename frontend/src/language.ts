/**
 * In which language the page speaks: as the address asks (`?lang=vi`), else as it was chosen here before, else as the browser
 * is. It is settled before the first word is said; another one is another load of the page.
 */

import { keep, recall } from './store/kept';

export const LANGUAGES = ['en', 'vi'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Each language by its own name. */
export const NAMES: Readonly<Record<Language, string>> = { en: 'English', vi: 'Tiếng Việt' };

const KEPT = 'language';
const ASKED = 'lang';

export const isLanguage = (said: string | null | undefined): said is Language =>
  (LANGUAGES as readonly (string | null | undefined)[]).includes(said);

/** What is `asked` for in an address, what was `kept`, and what the browser `prefers`, the first that is one of ours. */
export function chosen(asked: string | null, kept: string | null, prefers: readonly string[]): Language {
  if (isLanguage(asked)) return asked;
  if (isLanguage(kept)) return kept;
  return prefers.map((each) => each.split('-')[0]).find(isLanguage) ?? 'en';
}

function now(): Language {
  const place = globalThis.location as Location | undefined;
  const asked = new URLSearchParams(place?.search ?? '').get(ASKED);
  if (isLanguage(asked)) keep(KEPT, asked);
  // A worker has no document, and says nothing itself.
  const prefers = typeof document === 'undefined' ? [] : navigator.languages;
  return chosen(asked, recall(KEPT), prefers);
}

export const language: Language = now();
export const others: readonly Language[] = LANGUAGES.filter((each) => each !== language);
if (typeof document !== 'undefined') document.documentElement.lang = language;

/** Speak another language: the page is loaded again, at the place where it is. */
export function speak(next: Language): void {
  if (next === language) return;
  keep(KEPT, next);
  const address = new URL(location.href);
  // What an address asks for would win over what is chosen on the page that it led to.
  if (address.searchParams.has(ASKED)) {
    address.searchParams.delete(ASKED);
    history.replaceState(null, '', address);
  }
  location.reload();
}
