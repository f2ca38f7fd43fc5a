/** Reads a filter, up to the first thing that can't be read. */

import {
  type Fault,
  FIELDS,
  type Field,
  type Filter,
  NAMES,
  type Numbers,
  type Owner,
  type Term,
  type Times,
  type Why,
} from './filter';
import { readMoment } from './moment';
import { nearest } from './nearest';

export type Reading = { readonly filter: Filter } | { readonly fault: Fault };

class Unreadable extends Error {
  constructor(readonly fault: Fault) {
    super(fault.why);
  }
}

/** A value as it stands there. What is quoted is never a number or a keyword. */
interface Said {
  readonly text: string;
  readonly at: number;
  readonly end: number;
  readonly quoted: boolean;
}

const SPACE = /[ \t\r\n]/;
const isSpace = (sign: string | undefined): boolean => sign === undefined || SPACE.test(sign);

export function readFilter(text: string): Reading {
  try {
    return { filter: terms(text) };
  } catch (error) {
    if (error instanceof Unreadable) return { fault: error.fault };
    throw error;
  }
}

function fail(at: number, end: number, why: Why, said: string, more: Partial<Fault> = {}): never {
  throw new Unreadable({ at, end, why, said, ...more });
}

function terms(text: string): Filter {
  const found: Term[] = [];
  let at = 0;
  for (;;) {
    while (at < text.length && isSpace(text[at])) at++;
    if (at >= text.length) return found;
    const begin = at;
    const not = text[at] === '-';
    if (not) at++;
    if (isSpace(text[at])) fail(begin, at, 'empty', '-');
    const head = /^[A-Za-z_]+(?=:)/.exec(text.slice(at))?.[0];
    if (head === undefined) {
      const said = value(text, at, false);
      if (said.text === '') fail(said.at, said.end, 'empty', '');
      found.push({ field: 'word', not, values: [said.text] });
      at = said.end;
      continue;
    }
    const name = head.toLowerCase();
    const field = FIELDS.find((each) => each === name);
    if (field === undefined) fail(at, at + head.length, 'field', head, near(name, FIELDS));
    at += head.length;
    const said: Said[] = [];
    do {
      const next = value(text, at + 1, true);
      if (next.text === '' && !next.quoted) fail(begin, next.end, 'empty', head, { field });
      said.push(next);
      at = next.end;
    } while (text[at] === ',');
    found.push({ field, not, values: said.map((each) => READERS[field](each, field)) } as Term);
  }
}

/** What stands at a place, up to a space (or a comma, in a list). */
function value(text: string, at: number, inList: boolean): Said {
  let end = at;
  if (text[at] !== '"') {
    while (!isSpace(text[end]) && !(inList && text[end] === ',')) {
      if (text[end] === '"') fail(end, end + 1, 'quote', text.slice(at, end + 1));
      end++;
    }
    return { text: text.slice(at, end), at, end, quoted: false };
  }
  let said = '';
  for (end = at + 1; text[end] !== '"'; end++) {
    if (text[end] === '\\' && (text[end + 1] === '"' || text[end + 1] === '\\')) end++;
    if (end >= text.length) fail(at, text.length, 'open', text.slice(at));
    said += text[end]!;
  }
  end++;
  const isOver = isSpace(text[end]) || (inList && text[end] === ',');
  if (!isOver) fail(end, end + 1, 'quote', text.slice(at, end + 1));
  return { text: said, at, end, quoted: true };
}

// -- values -----------------------------------------------------------------------------------------------------------

const near = (said: string, names: readonly string[]): Partial<Fault> => {
  const found = nearest(said, names);
  return found === undefined ? {} : { nearest: found };
};

function name(said: Said, field: Field): string {
  const names = NAMES[field]!;
  const wanted = said.text.toLowerCase().replaceAll(/[ -]/g, '_');
  if (names.includes(wanted)) return wanted;
  return fail(said.at, said.end, 'name', said.text, { field, ...near(wanted, names) });
}

/** The two ends of a range, '' where there is none. One value is both. */
function ends(said: string): readonly [string, string] {
  const at = said.indexOf('..');
  return at < 0 ? [said, said] : [said.slice(0, at), said.slice(at + 2)];
}

function numbers(said: Said, field: Field): Numbers {
  const { text, at, end } = said;
  const life = field === 'block' ? /^(.*)#(\d{1,15})$/.exec(text) : null;
  const [first, last] = ends(life === null ? text : life[1]!);
  const isNumber = (each: string): boolean => /^\d{1,15}$/.test(each);
  const isRange = text.includes('..') && (first !== '' || last !== '');
  const fits = isRange
    ? (first === '' || isNumber(first)) && (last === '' || isNumber(last))
    : isNumber(first);
  if (said.quoted || !fits) fail(at, end, 'number', text, { field });
  const from = first === '' ? null : Number(first);
  const to = last === '' ? null : Number(last);
  if (life !== null && isRange) fail(at, end, 'generation', text, { field });
  if (from !== null && to !== null && from > to) fail(at, end, 'order', text, { field });
  return life === null ? { from, to } : { from, to, generation: Number(life[2]) };
}

function owner(said: Said): Owner {
  const { text, quoted, at, end } = said;
  if (text === '') fail(at, end, 'empty', '', { field: 'owner' });
  if (!quoted && text === 'none') return { none: true };
  const numbered = quoted ? null : /^r?(\d{1,15})(?:\.(\d{1,15}))?$/.exec(text);
  if (numbered === null) return { name: text };
  const request = Number(numbered[1]);
  return numbered[2] === undefined ? { request } : { request, index: Number(numbered[2]) };
}

function hash(said: Said): string {
  const wanted = said.text.toLowerCase().replace(/^0x/, '');
  if (!/^[0-9a-f]{1,64}$/.test(wanted)) fail(said.at, said.end, 'hex', said.text, { field: 'hash' });
  return wanted;
}

function times(said: Said): Times {
  const { text, at, end } = said;
  const [first, last] = ends(text);
  const from = first === '' ? null : readMoment(first);
  const to = last === '' ? null : readMoment(last);
  const isRead = (first === '' || from !== null) && (last === '' || to !== null);
  if (!isRead || (from === null && to === null)) fail(at, end, 'time', text, { field: 'time' });
  if (from !== null && to !== null) {
    const [a, b] = [from, to].map((each) => ('day' in each ? each.day : ''));
    // A clock without a day may go on past midnight.
    const isOrdered = a === null || b === null || (a === '') !== (b === '');
    if (!isOrdered && (a! > b! || (a === b && from.ns > to.ns)))
      fail(at, end, 'order', text, { field: 'time' });
  }
  return { from, to };
}

const READERS: Readonly<Record<Field, (said: Said, field: Field) => unknown>> = {
  op: name,
  decision: name,
  cause: name,
  block: numbers,
  owner,
  seq: numbers,
  content: numbers,
  hash,
  step: numbers,
  record: numbers,
  time: times,
};
