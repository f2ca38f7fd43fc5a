/** Writes a filter so that it is read as the same. */

import type { Filter, Numbers, Owner, Term, Times } from './filter';
import { printMoment } from './moment';

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

function printNumbers({ from, to, generation }: Numbers): string {
  if (generation !== undefined) return `${from}#${generation}`;
  return from === to ? String(from) : `${from ?? ''}..${to ?? ''}`;
}

/** A request's name; in quotes where it could be taken for something else. */
export function printName(name: string): string {
  const isPlain = !/^none$|^r?\d{1,15}(\.\d{1,15})?$|[ \t\r\n,"]|^$/.test(name);
  return isPlain ? name : quoted(name);
}

function printOwner(owner: Owner): string {
  if ('none' in owner) return 'none';
  if ('name' in owner) return printName(owner.name);
  return owner.index === undefined ? `r${owner.request}` : `r${owner.request}.${owner.index}`;
}

function printTimes({ from, to }: Times): string {
  const [first, last] = [from, to].map((each) => (each === null ? '' : printMoment(each)));
  const text = first === last ? first! : `${first}..${last}`;
  return text;
}

function printWord(word: string): string {
  return /^-|[ \t\r\n"]|^[A-Za-z_]+:/.test(word) ? quoted(word) : word;
}

export function printTerm(term: Term): string {
  const sign = term.not ? '-' : '';
  switch (term.field) {
    case 'word':
      return sign + term.values.map(printWord).join(' ');
    case 'op':
    case 'decision':
    case 'cause':
    case 'hash':
      return `${sign}${term.field}:${term.values.join(',')}`;
    case 'owner':
      return `${sign}owner:${term.values.map(printOwner).join(',')}`;
    case 'time':
      return `${sign}time:${term.values.map(printTimes).join(',')}`;
    default:
      return `${sign}${term.field}:${term.values.map(printNumbers).join(',')}`;
  }
}

export function printFilter(filter: Filter): string {
  return filter.map(printTerm).join(' ');
}
