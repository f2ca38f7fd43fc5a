/**
 * What the command palette offers: every command, themes, places, blocks, sessions and requests; each with why it can't be
 * done now, where it can't.
 *
 *     812 · op 99887 · 12.5s      as in the field of the bar: a place to go to
 *     block 42                    a block to select
 *     chat-7 · r17                a request that is known here, by its name or its number
 */

import { NAMES, others } from '../language';
import { text } from '../text';
import { jumpTo } from './clock';
import { colourBy, colourings } from './colouring';
import { COMMANDS, type Command, whyNot } from './commands';
import { type Extent, readDestination } from './destination';
import { isEmbedded } from './embedded';
import { type Fit, fitOf } from './fuzzy';
import { keep, recallJson } from './kept';
import { showPanel } from './layout';
import { hello, position, scheduler, tables } from './ledger';
import { speakHere } from './location';
import { selectBlock, selectRequest } from './selection';
import { current, listing, openSession } from './sessions';
import { revealSelection } from './surfaces';
import { setTheme } from './theme';

const words = text.palette;

export interface Entry {
  /** The same from one visit to the next. */
  readonly id: string;
  readonly title: string;
  readonly detail: string;
  readonly keys: readonly string[];
  readonly why: string | null;
  readonly run: () => void;
}

export interface Found extends Entry {
  readonly places: readonly number[];
  readonly isRecent: boolean;
}

const RECENT = 6;
const MOST = 60;
const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
let recent = recallJson('recent', isNames, []).slice(0, RECENT);

/** Do it, and remember that it was done. */
export function choose(entry: Entry): void {
  recent = [entry.id, ...recent.filter((id) => id !== entry.id)].slice(0, RECENT);
  keep('recent', JSON.stringify(recent));
  entry.run();
}

function commandEntry(command: Command): Entry {
  const { id, keys, group, run, release } = command;
  return {
    id,
    title: text.commands[id],
    detail: text.keys.groups[group],
    keys,
    why: whyNot(command),
    // What goes on while a key is held is done once here.
    run: () => {
      run();
      release?.();
    },
  };
}

function themes(): Entry[] {
  return (['dark', 'light', 'system'] as const).map((id) => ({
    id: `theme:${id}`,
    title: words.themes[id],
    detail: words.theme,
    keys: [],
    why: null,
    run: () => setTheme(id === 'system' ? null : id),
  }));
}

function languages(): Entry[] {
  return others.map((id) => ({
    id: `language:${id}`,
    title: words.speak(NAMES[id]),
    detail: words.language,
    keys: [],
    why: null,
    run: () => speakHere(id),
  }));
}

function colourBys(): Entry[] {
  return colourings.peek().map((id) => ({
    id: `colour:${id}`,
    title: words.colouring(text.colouring.names[id]),
    detail: text.keys.groups.map,
    keys: [],
    why: current.peek() === null ? words.why.noSession : null,
    run: () => {
      colourBy(id);
      showPanel('map');
    },
  }));
}

function sessions(): Entry[] {
  const { value } = listing;
  if (value.state !== 'ready' || isEmbedded) return [];
  return value.sessions.map((info) => ({
    id: `session:${info.id}`,
    title: words.session(info.name || info.id),
    detail: words.sessionDetail(text.sessions.states[info.state], info.steps),
    keys: [],
    why: info.id === current.peek()?.id ? words.why.isOpen : null,
    run: () => openSession(info, null),
  }));
}

function requests(): Entry[] {
  const known = new Map<number, readonly [name: string, state: keyof typeof text.tables.states]>();
  for (const { request, name, state } of tables.peek()?.rows ?? []) known.set(request, [name, state]);
  for (const { request, name, state } of scheduler.peek()?.waiting ?? []) known.set(request, [name, state]);
  return [...known].map(([request, [name, state]]) => ({
    id: `request:${request}`,
    title: words.request(request, name),
    detail: text.tables.states[state],
    keys: [],
    why: null,
    run: () => {
      selectRequest(request);
      revealSelection();
    },
  }));
}

function blockEntry(typed: string): Entry[] {
  const said = /^b(?:lock)?\s*(\d{1,9})$/i.exec(typed)?.[1];
  if (said === undefined) return [];
  const block = Number(said);
  const count = hello.peek()?.num_blocks ?? 0;
  return [
    {
      id: `block:${block}`,
      title: words.block(block),
      detail: text.panels.block,
      keys: [],
      why: current.peek() === null ? words.why.noSession : block < count ? null : words.why.noBlock(count),
      run: () => {
        selectBlock(block);
        showPanel('map');
        revealSelection();
      },
    },
  ];
}

function placeEntry(typed: string): Entry[] {
  const said = typed.replace(/^go(\s+to)?\s+/i, '');
  const { lastStep, lastRecord, lastOp, lastTime } = position.peek();
  const startUtcUs = hello.peek()?.utc_us ?? 0;
  const extent: Extent = { lastStep, lastRecord, lastOp, lastTime, startUtcUs };
  const reading = readDestination(said, extent);
  if (reading.kind === 'nothing' || (reading.kind === 'wrong' && ['form', 'number'].includes(reading.why)))
    return [];
  const told = text.go.told(reading, said, extent);
  const isPlace = reading.kind === 'place';
  const why = current.peek() === null ? words.why.noSession : isPlace ? null : told;
  return [
    {
      id: `go:${said}`,
      title: words.go(isPlace ? told : said),
      detail: text.keys.groups.view,
      keys: [],
      why,
      run: () => isPlace && jumpTo(reading.to),
    },
  ];
}

function found(entry: Entry, { places }: Fit): Found {
  return { ...entry, places, isRecent: recent.includes(entry.id) };
}

/** What fits, best first. Of nothing typed: what was used last, then all commands. */
export function find(typed: string): Found[] {
  const said = typed.trim();
  const whole: Fit = { score: 0, places: [] };
  const standing = [
    ...COMMANDS.filter(({ id }) => id !== 'palette').map(commandEntry),
    ...themes(),
    ...languages(),
    ...colourBys(),
    ...sessions(),
  ];
  if (said === '') {
    const used = recent.flatMap((id) => standing.find((entry) => entry.id === id) ?? []);
    return [...used, ...standing.filter((entry) => !used.includes(entry))].map((entry) =>
      found(entry, whole),
    );
  }
  const fits = [...standing, ...requests()].flatMap((entry) => {
    const own = fitOf(said, entry.title);
    if (own === null) return [];
    // What was used lately is meant again rather than something that fits a little better.
    const use = recent.indexOf(entry.id);
    const lift = use < 0 ? 0 : (RECENT - use) / 2;
    return [{ entry, own, score: own.score + lift - (entry.why === null ? 0 : 4) }];
  });
  fits.sort((a, b) => b.score - a.score);
  const typedOnes = [...blockEntry(said), ...placeEntry(said)].map((entry) => found(entry, whole));
  return [...typedOnes, ...fits.map(({ entry, own }) => found(entry, own))].slice(0, MOST);
}
