/** What somebody typed as a step. */

/** The step; `low`: it is not a number of a step; `high`: it lies past the last one; null: nothing was typed. */
export function readStep(typed: string, lastStep: number): number | 'low' | 'high' | null {
  // Digits may stand in groups, as the page itself writes them.
  const digits = typed.replace(/\s/g, '');
  if (digits === '' || digits === '–') return null;
  if (!/^\d+$/.test(digits)) return 'low';
  const step = Number(digits);
  return step > lastStep ? 'high' : step;
}
