/**
 * What the page says in Vietnamese, all of it: a word that comes to the catalogue has to come here too.
 *
 * Terms that engineers leave in English (block, token, request, prefix cache, ref count, decode …) are left so.
 */

import type { English } from '../../text';
import type { Whole } from '../whole';
import { bar, engine, light } from './bar';
import { map, mapKey, queue, runs, states } from './blocks';
import { colouring, order } from './colouring';
import { commands, keys } from './commands';
import { compare } from './compare';
import { control } from './control';
import { decisions, describe, events } from './events';
import { filter } from './filter';
import { findings } from './findings';
import { footer } from './footer';
import { inspector } from './inspector';
import { keysAndValues } from './keysAndValues';
import { memory } from './memory';
import { notice } from './notice';
import { palette, share } from './palette';
import { panels } from './panels';
import { playground } from './playground';
import { rectangle } from './rectangle';
import { beams, ending, odds, said } from './said';
import { scenarios } from './scenarios';
import { scheduler, tables, waiting } from './scheduling';
import { exporting, formats, removal, sessions, stage, transfers } from './sessions';
import { sizes } from './sizes';
import { sql } from './sql';
import { timeline } from './timeline';
import { tour } from './tour';
import { go, landmarks, pace, transport } from './transport';
import { tree } from './tree';
import { why } from './why';

export const vietnamese: { readonly [Part in keyof English]: Whole<English[Part]> } = {
  product: 'kvarium',
  panels,
  bar,
  engine,
  control,
  light,
  states,
  mapKey,
  colouring,
  order,
  tables,
  scheduler,
  waiting,
  map,
  rectangle,
  memory,
  queue,
  runs,
  events,
  filter,
  tree,
  timeline,
  compare,
  transport,
  pace,
  go,
  landmarks,
  inspector,
  notice,
  keysAndValues,
  said,
  playground,
  findings,
  scenarios,
  odds,
  ending,
  beams,
  decisions,
  event: describe,
  footer,
  sql,
  sessions,
  removal,
  formats,
  exporting,
  transfers,
  stage,
  commands,
  keys,
  palette,
  sizes,
  tour,
  why,
  share,
};
