/**
 * Times as the Go field reads them, each as exact as it is written.
 *
 *     12.5s · 3m · 0:01:02.5 · +1:02     of the session          12.5s   [12.5 s, 12.6 s)
 *     14:03 · 2026-11-30T14:03:22        of the wall clock       14:03   the whole minute
 */

import type { Moment } from './filter';

const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const UNITS: Readonly<Record<string, number>> = { ms: 1e6, s: SECOND, min: MINUTE, m: MINUTE, h: HOUR };

/** An amount of a unit, with its decimals; null: it is finer than a nanosecond, or more than any session has. */
function amount(whole: number, decimals: string, unit: number): { ns: number; unit: number } | null {
  const fine = unit / 10 ** decimals.length;
  const ns = whole * unit + Number(decimals) * fine;
  return Number.isInteger(fine) && Number.isSafeInteger(ns) ? { ns, unit: fine } : null;
}

export function readMoment(typed: string): Moment | null {
  const said = typed.toLowerCase();
  const measured = /^\+?(\d{1,9})(?:\.(\d{1,9}))?(ms|s|min|m|h)$/.exec(said);
  if (measured !== null) return amount(Number(measured[1]), measured[2] ?? '', UNITS[measured[3]!]!);
  const parts = /^(\+?)(?:(\d{1,6}):)?(\d{1,2}):(\d{2})(?:\.(\d{1,9}))?$/.exec(said);
  if (parts !== null && (parts[1] !== '' || parts[5] !== undefined)) {
    const [, , hours, minutes, seconds, decimals] = parts;
    return amount(3600 * Number(hours ?? 0) + 60 * Number(minutes) + Number(seconds), decimals ?? '', SECOND);
  }
  return readClock(said);
}

function readClock(said: string): Moment | null {
  const parts = /^(?:(\d{4}-\d{2}-\d{2})[ t])?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/.exec(said);
  if (parts === null) return null;
  const [, day, hours, minutes, seconds, decimals] = parts;
  const [, month, date] = (day ?? '0000-01-01').split('-').map(Number);
  const isDay = month! >= 1 && month! <= 12 && date! >= 1 && date! <= 31;
  if (!isDay || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds ?? 0) > 59) return null;
  const whole = 3600 * Number(hours) + 60 * Number(minutes) + Number(seconds ?? 0);
  const { ns, unit } = amount(whole, decimals ?? '', SECOND)!;
  return { day: day ?? null, ns, unit: seconds === undefined ? MINUTE : unit };
}

/** How many decimals it takes to write a unit that is a power of ten of another. */
function decimalsOf(unit: number, of: number): number | null {
  for (let decimals = 0; decimals <= 11; decimals++) if (unit * 10 ** decimals === of) return decimals;
  return null;
}

function decimal(ns: number, unit: number, decimals: number): string {
  const whole = Math.floor(ns / unit);
  const rest = (ns - whole * unit) / (unit / 10 ** decimals);
  return decimals === 0 ? String(whole) : `${whole}.${String(rest).padStart(decimals, '0')}`;
}

const two = (value: number): string => String(value).padStart(2, '0');

export function printMoment(moment: Moment): string {
  const { ns, unit } = moment;
  if ('day' in moment) {
    const clock = `${two(Math.floor(ns / HOUR))}:${two(Math.floor(ns / MINUTE) % 60)}`;
    const day = moment.day === null ? '' : `${moment.day}T`;
    if (unit === MINUTE) return day + clock;
    const decimals = decimalsOf(unit, SECOND)!;
    return `${day}${clock}:${decimal(ns % MINUTE, SECOND, decimals).padStart(decimals === 0 ? 2 : decimals + 3, '0')}`;
  }
  for (const [name, of] of [
    ['s', SECOND],
    ['m', MINUTE],
    ['h', HOUR],
  ] as const) {
    const decimals = decimalsOf(unit, of);
    if (decimals !== null) return decimal(ns, of, decimals) + name;
  }
  throw new Error(`a time of ${unit} ns can't be written`);
}

/** Where a session began, and how far its wall clock is ahead of UTC. */
export interface Origin {
  /** µs since 1970. */
  readonly startUtcUs: number;
  /** ns; of the wall clock at the session's start. */
  readonly zone: number;
}

/** The first moment of a time, in ns since the session's start. A clock without a day is the first one that ends after the start. */
export function begins(moment: Moment, { startUtcUs, zone }: Origin): number {
  if (!('day' in moment)) return moment.ns;
  const start = startUtcUs * 1000 + zone;
  if (moment.day !== null) return Date.parse(`${moment.day}T00:00:00Z`) * 1e6 - start + moment.ns;
  const today = Math.floor(start / DAY) * DAY + moment.ns - start;
  return today + moment.unit > 0 ? today : today + DAY;
}
