/**
 * Every word that the page says, a file of `wording/` for each thing that it says them of. Another language is a folder there
 * with the same files (`wording/vi`), and comes to those only who choose it.
 *
 * Names of operations, causes and states are the field's own and the ledger's; they stay as they are in any language.
 */

import { language } from './language';
import { bar, engine, light } from './wording/bar';
import { map, mapKey, queue, runs, states } from './wording/blocks';
import { colouring, order } from './wording/colouring';
import { commands, keys } from './wording/commands';
import { compare } from './wording/compare';
import { control } from './wording/control';
import { decisions, describe, events } from './wording/events';
import { filter } from './wording/filter';
import { findings } from './wording/findings';
import { footer } from './wording/footer';
import { inspector } from './wording/inspector';
import { keysAndValues } from './wording/keysAndValues';
import { memory } from './wording/memory';
import { notice } from './wording/notice';
import { palette, share } from './wording/palette';
import { playground } from './wording/playground';
import { rectangle } from './wording/rectangle';
import { beams, ending, odds, said } from './wording/said';
import { scenarios } from './wording/scenarios';
import { scheduler, tables, waiting } from './wording/scheduling';
import { exporting, formats, removal, sessions, stage, transfers } from './wording/sessions';
import { sizes } from './wording/sizes';
import { sql } from './wording/sql';
import { timeline } from './wording/timeline';
import { tour } from './wording/tour';
import { go, landmarks, pace, transport } from './wording/transport';
import { tree } from './wording/tree';
import { why } from './wording/why';

export const english = {
  product: 'kvarium',
  panels: {
    tables: 'tables',
    scheduler: 'scheduler',
    playground: 'playground',
    map: 'map',
    tree: 'tree',
    events: 'events',
    sql: 'sql',
    findings: 'findings',
    queue: 'Free queue',
    runs: 'Free runs',
    waiting: 'Waiting',
    timeline: 'Timeline',
    block: 'Block',
    request: 'Request',
    session: 'Session',
    left: 'Tables, scheduler and playground',
    centre: 'Map and lists',
    inspector: 'Inspector',
    biography: 'Biography',
    story: 'Story',
  },
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
  scenarios,
  odds,
  ending,
  beams,
  decisions,
  event: describe,
  footer,
  sql,
  findings,
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
  share,
  why,
} as const;

export type English = typeof english;

/** The words in the language of this page: they are there before anything that says them is. */
export const text: English =
  language === 'vi' ? ((await import('./wording/vi')).vietnamese as unknown as English) : english;
