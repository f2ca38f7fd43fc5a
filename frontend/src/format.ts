/** Numbers as the page shows them: digits in groups of three with a thin space, so that columns stay readable. */

const THIN = '\u202f';

export function integer(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(Math.round(value)).toString();
  const grouped = digits.replace(/\B(?=(\d{3})+$)/g, THIN);
  return value < 0 ? `−${grouped}` : grouped;
}

/** Three significant digits: 1 904 · 18.3 k · 2.41 M. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 10_000) return integer(value);
  if (size < 1e6) return `${(value / 1e3).toPrecision(3)} k`;
  if (size < 1e9) return `${(value / 1e6).toPrecision(3)} M`;
  return `${(value / 1e9).toPrecision(3)} G`;
}

export function percent(part: number, whole: number, digits = 1): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(digits)}${THIN}%` : '–';
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let size = value;
  let unit = -1;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size >= 100 ? size.toFixed(0) : size.toPrecision(3)} ${units[unit]}`;
}

/** ns as µs, ms or s. */
export function duration(ns: number): string {
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  return `${(ns / 1e9).toPrecision(3)} s`;
}

/** ns since the session's start as h:mm:ss.mmm. */
export function clock(ns: number): string {
  const ms = Math.max(0, Math.floor(ns / 1e6));
  const pad = (value: number, width: number): string => String(value).padStart(width, '0');
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor(ms / 60_000) % 60;
  const seconds = Math.floor(ms / 1000) % 60;
  return `${hours}:${pad(minutes, 2)}:${pad(seconds, 2)}.${pad(ms % 1000, 3)}`;
}

/** A wall-clock moment, µs since 1970, in the reader's zone. */
export function moment(utcUs: number): string {
  const date = new Date(utcUs / 1000);
  const pad = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** How long something took, for a person: 4 s, 3 min 20 s, 2 h 5 min. */
export function span(ns: number): string {
  const seconds = Math.round(ns / 1e9);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
}

/** A probability, given as its natural log: 61.2 %, 0.34 %, 2.1e-7. */
export function probability(logprob: number): string {
  const value = Math.exp(logprob);
  if (value >= 0.0001) return `${(100 * value).toFixed(value >= 0.1 ? 1 : 2)}${THIN}%`;
  return value > 0 ? value.toExponential(1) : `e${integer(logprob)}`;
}
