/**
 * What the page says in Vietnamese: the parts of the catalogue that are here are here whole, and the others stay English.
 *
 * Terms that engineers leave in English (block, token, request, prefix cache, ref count, decode …) are left so.
 */

import type { English } from '../../text';
import type { Whole } from '../whole';
import { scenarios } from './scenarios';
import { tour } from './tour';

export const vietnamese: { readonly [Part in keyof English]?: Whole<English[Part]> } = { scenarios, tour };
