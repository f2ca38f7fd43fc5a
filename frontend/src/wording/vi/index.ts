/**
 * What the page says in Vietnamese: the parts of the catalogue that are here are here whole, and the others stay English.
 *
 * Terms that engineers leave in English (block, token, request, prefix cache, ref count, decode …) are left so.
 */

import type { English } from '../../text';
import type { Whole } from '../whole';
import { bar, engine, light } from './bar';
import { map, mapKey, queue, runs, states } from './blocks';
import { footer } from './footer';
import { panels } from './panels';
import { scenarios } from './scenarios';
import { scheduler, tables, waiting } from './scheduling';
import { timeline } from './timeline';
import { tour } from './tour';
import { why } from './why';

export const vietnamese: { readonly [Part in keyof English]?: Whole<English[Part]> } = {
  panels,
  bar,
  engine,
  light,
  states,
  mapKey,
  tables,
  scheduler,
  waiting,
  map,
  queue,
  runs,
  timeline,
  footer,
  scenarios,
  tour,
  why,
};
