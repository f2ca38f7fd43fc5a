/** What kinds, measures and thresholds are called; what this page does not know has the name that came. */

import { integer, percent } from '../../format';
import { text } from '../../text';

const words = text.findings;

export function nameOfKind(kind: string): string {
  return (words.kinds as Readonly<Record<string, string>>)[kind] ?? kind;
}

/** From what on something is a finding, in a line. */
export function nameOfThresholds(thresholds: Readonly<Record<string, number>>): string {
  const names: Readonly<Record<string, (limit: number) => string>> = words.thresholds;
  return Object.entries(thresholds)
    .map(([name, limit]) => names[name]?.(limit) ?? `${name} ${limit}`)
    .join(', ');
}

export function nameOfMeasure(name: string): string {
  const size = /^share_with_(\d+)$/.exec(name)?.[1];
  if (size !== undefined) return words.shareWith(Number(size));
  return (words.measured as Readonly<Record<string, string>>)[name] ?? name;
}

/** A measure: a share in percent, a mean with what is behind its point. */
export function valueOfMeasure(name: string, value: number): string {
  if (/(^|_)share(_|$)/.test(name)) return percent(value, 1);
  return Number.isInteger(value) ? integer(value) : String(value);
}
