/**
 * What somebody typed to go somewhere.
 *
 *     812 · step 812        a step                    12.5s · 0:01:02.5 · +1:02     time of the session
 *     op 99887              behind an operation       14:03:22 · 2026-11-30 14:03   wall clock, of this browser's zone
 *     r12345 · record 12345 a record
 *
 * Time of the session has a unit, a fraction (as the page itself shows it) or a plus; any other time is the wall clock's.
 */

import type { Destination } from '../worker/place';

/** What there is to go to. */
export interface Extent {
  readonly lastStep: number;
  readonly lastRecord: number;
  readonly lastOp: number;
  /** ns since the session's start. */
  readonly lastTime: number;
  /** µs since 1970 at the session's start. */
  readonly startUtcUs: number;
}

export type Reading =
  | { readonly kind: 'nothing' }
  /** `isClock`: it was a time of the wall clock. */
  | { readonly kind: 'place'; readonly to: Destination; readonly isClock: boolean }
  /** It is none of the forms; a number that is no step's; past the last one; a time or a moment outside of the session. */
  | { readonly kind: 'wrong'; readonly why: Wrong };
export type Wrong = 'form' | 'number' | 'step' | 'record' | 'operation' | 'time' | 'clock';

const UNITS: Readonly<Record<string, number>> = { ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };
const WORDS = {
  step: 'step',
  op: 'operation',
  operation: 'operation',
  r: 'record',
  record: 'record',
} as const;
const SECOND = 1e9;

export function readDestination(typed: string, extent: Extent): Reading {
  // Digits may stand in groups of three, as the page itself writes them.
  const said = typed
    .trim()
    .toLowerCase()
    .replace(/(\d)[\s\u202f](?=\d{3}(?:\D|$))/g, '$1');
  if (said === '' || said === '–') return { kind: 'nothing' };
  const numbered = /^(step|op|operation|r|record)?\s*(\d+)$/.exec(said);
  if (numbered !== null) {
    const word = (numbered[1] ?? 'step') as keyof typeof WORDS;
    return readNumber(WORDS[word], Number(numbered[2]), extent);
  }
  if (/^[-+]?[\d.,]+(e\d+)?$/.test(said)) return { kind: 'wrong', why: 'number' };
  const time = readTime(said);
  if (time !== null) {
    if (time > extent.lastTime + SECOND) return { kind: 'wrong', why: 'time' };
    return { kind: 'place', to: { kind: 'time', time }, isClock: false };
  }
  return readClock(said, extent);
}

function readNumber(kind: 'step' | 'operation' | 'record', value: number, extent: Extent): Reading {
  const last = { step: extent.lastStep, operation: extent.lastOp, record: extent.lastRecord }[kind];
  if (value > last) return { kind: 'wrong', why: kind };
  const to: Destination =
    kind === 'step'
      ? { kind, step: value }
      : kind === 'record'
        ? { kind, record: value }
        : { kind, operation: value };
  return { kind: 'place', to, isClock: false };
}

/** ns since the session's start; null: it is no time of the session. */
function readTime(said: string): number | null {
  const amount = /^\+?(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)$/.exec(said);
  if (amount !== null) return Math.round(Number(amount[1]) * UNITS[amount[2]!]!);
  const parts = /^(\+?)(?:(\d+):)?(\d{1,2}):(\d{2})(\.\d+)?$/.exec(said);
  if (parts === null) return null;
  const [, plus, hours, minutes, seconds, fraction] = parts;
  if (plus === '' && fraction === undefined) return null;
  const whole = 3600 * Number(hours ?? 0) + 60 * Number(minutes) + Number(seconds);
  return Math.round((whole + Number(fraction ?? 0)) * SECOND);
}

function readClock(said: string, { startUtcUs, lastTime }: Extent): Reading {
  const parts = /^(?:(\d{4})-(\d{2})-(\d{2})[ t])?(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$/.exec(said);
  if (parts === null) return { kind: 'wrong', why: 'form' };
  const [, year, month, day, hours, minutes, seconds] = parts;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds ?? 0) >= 60) {
    return { kind: 'wrong', why: 'form' };
  }
  const start = new Date(startUtcUs / 1000);
  const moment =
    year === undefined
      ? new Date(start.getFullYear(), start.getMonth(), start.getDate())
      : new Date(Number(year), Number(month) - 1, Number(day));
  moment.setHours(Number(hours), Number(minutes), 0, 1000 * Number(seconds ?? 0));
  // A second, or a minute, that was begun before the session holds its start.
  const least = seconds === undefined ? 60 * SECOND : SECOND;
  const since = (): number => (1000 * moment.getTime() - startUtcUs) * 1000;
  if (year === undefined && since() <= -least) moment.setDate(moment.getDate() + 1);
  const time = since();
  if (time <= -least || time > lastTime + SECOND) return { kind: 'wrong', why: 'clock' };
  return { kind: 'place', to: { kind: 'time', time: Math.max(0, time) }, isClock: true };
}
