/** How an end is told. */

/** What ended a sequence: a stop id, a stop string, or the model's own end. */
export const stop = (by: number | string | null | undefined): string => {
  if (by == null) return '';
  return typeof by === 'number' ? ` on token ${by}` : ` on ${JSON.stringify(by)}`;
};
