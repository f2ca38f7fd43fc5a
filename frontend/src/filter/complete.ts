/** What may stand where somebody types: fields, and the values that a field can have. */

import { FIELDS, type Field, NAMES } from './filter';
import { printName } from './print';

export interface Offer {
  /** What is put in place of what was typed there. */
  readonly insert: string;
  readonly kind: 'field' | 'value' | 'recent';
  /** The field that it is, or is a value of. */
  readonly field: Field | null;
  /** How often it occurs, where that is known. */
  readonly count: number | null;
}

export interface Completion {
  /** The characters that an offer replaces. */
  readonly from: number;
  readonly to: number;
  /** The field whose value is typed there; null: a field or a word. */
  readonly field: Field | null;
  readonly offers: readonly Offer[];
}

export interface Offered {
  /** How often each operation occurs, by its name. */
  readonly counts: Readonly<Partial<Record<string, number>>>;
  /** Requests, as they are shown and by the names that their users gave them. */
  readonly owners: readonly string[];
  /** Filters that were used before, the last one first. */
  readonly recent: readonly string[];
}

const MOST = 60;

/** Where the term begins that the caret is in: behind a space that stands in no quotes. */
function termBegin(text: string, caret: number): number {
  let begin = 0;
  let quoted = false;
  for (let at = 0; at < caret; at++) {
    if (text[at] === '\\' && quoted) at++;
    else if (text[at] === '"') quoted = !quoted;
    else if (!quoted && /[ \t\r\n]/.test(text[at]!)) begin = at + 1;
  }
  return begin;
}

export function complete(text: string, caret: number, offered: Offered): Completion {
  const begin = termBegin(text, caret);
  const sign = text[begin] === '-' ? 1 : 0;
  const term = text.slice(begin + sign, caret);
  const head = /^([A-Za-z_]+):/.exec(term);
  const field = FIELDS.find((each) => each === head?.[1]?.toLowerCase()) ?? null;
  if (field !== null) return values(text, begin + sign + head![0].length, caret, field, offered);
  const typed = term.toLowerCase();
  const fields = FIELDS.filter((name) => name.startsWith(typed)).map(
    (name): Offer => ({ insert: `${name}:`, kind: 'field', field: name, count: null }),
  );
  const recent = text.trim() === '' ? offered.recent : [];
  const before = recent.map((insert): Offer => ({ insert, kind: 'recent', field: null, count: null }));
  return { from: begin + sign, to: caret, field: null, offers: [...before, ...fields] };
}

function values(text: string, begin: number, caret: number, field: Field, offered: Offered): Completion {
  const from = Math.max(begin, text.lastIndexOf(',', caret - 1) + 1);
  const typed = text.slice(from, caret).toLowerCase().replace(/^"/, '');
  const names: readonly string[] = field === 'owner' ? [...offered.owners, 'none'] : (NAMES[field] ?? []);
  const offers = names
    .filter((name) => (field === 'owner' ? name.toLowerCase().includes(typed) : name.startsWith(typed)))
    .map((name): Offer => {
      const count = field === 'op' ? (offered.counts[name] ?? null) : null;
      const isLabel = /^r\d+(\.\d+)?$|^none$/.test(name);
      return { insert: field === 'owner' && !isLabel ? printName(name) : name, kind: 'value', field, count };
    });
  if (field !== 'op' && field !== 'decision')
    return { from, to: caret, field, offers: offers.slice(0, MOST) };
  const order = field === 'op' ? offers.sort((a, b) => (b.count ?? 0) - (a.count ?? 0)) : offers;
  return { from, to: caret, field, offers: order };
}

/** The text once an offer is taken, and where the caret stands then. */
export function take(text: string, { from, to }: Completion, offer: Offer): { text: string; caret: number } {
  if (offer.kind === 'recent') return { text: offer.insert, caret: offer.insert.length };
  const rest = text.slice(to);
  const gap = offer.kind === 'value' && !/^[ ,]/.test(rest) ? ' ' : '';
  const before = text.slice(0, from) + offer.insert + gap;
  return { text: before + rest, caret: before.length };
}
