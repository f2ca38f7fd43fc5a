/** So many of something. */

import { integer } from '../format';

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${integer(count)} ${count === 1 ? one : many}`;
