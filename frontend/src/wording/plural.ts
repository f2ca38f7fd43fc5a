/** So many of something. */

import { integer } from '../format';

/** `1 is`, `2 are`. */
export const are = (count: number, of = ''): string => `${integer(count)}${of} ${count === 1 ? 'is' : 'are'}`;

/** `1 was`, `2 were`; `1 of 8 was` with what stands between. */
export const were = (count: number, of = ''): string =>
  `${integer(count)}${of} ${count === 1 ? 'was' : 'were'}`;

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${integer(count)} ${count === 1 ? one : many}`;
