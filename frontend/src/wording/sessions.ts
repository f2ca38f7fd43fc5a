/** What is said of sessions: their list, and one that is being opened. */

import { bytes, integer, span } from '../format';
import { plural } from './plural';

const n = integer;

export const sessions = {
  unknown: (id: string) => `There is no session ${id} here.`,
  unknownAdvice:
    'It may have been recorded by another server, or into another file. These are the sessions of this one:',
  title: 'Sessions',
  count: (shown: number, all: number) => (shown === all ? n(all) : `${n(shown)} of ${n(all)}`),
  loading: 'Asking the server …',
  starting: 'The engine is starting.',
  startingAdvice: 'It loads its model; the screen opens by itself as soon as it runs.',
  empty: 'Nothing is recorded yet.',
  first: (server: string) => [
    {
      advice: 'See a first session now, with a small model and a screen of its own:',
      command: 'kvarium demo',
    },
    {
      advice: 'Or link an engine to this server, with the token that it printed; it appears here by itself:',
      command: `KVARIUM_ENGINE_TOKEN=… kvarium engine --connect ${server}`,
    },
  ],
  firstImport: 'Or drop a kvarium file that somebody sent you anywhere on this page: it is only read.',
  failed: 'The server does not answer.',
  failedAdvice: (hasList: boolean) =>
    `${hasList ? 'The list is as it was last. ' : ''}Is it running? Start it, and this page goes on by itself:`,
  failedCommand: 'kvarium serve',
  unreadable: 'The recording can’t be read.',
  unreadableBecause: (reason: string) =>
    `${reason}. Another program may hold it, or its file is gone; it is tried again by itself.`,
  unwritable: 'The recording can’t be written now.',
  unwritableBecause: (reason: string, whatToDo: string) =>
    `${reason}. What engines send is kept in memory for now: ${whatToDo}.`,
  retry: 'Try again',
  columns: {
    session: 'session',
    state: 'state',
    usage: 'usage',
    engine: 'engine',
    pool: 'pool',
    steps: 'steps',
    operations: 'operations',
    length: 'length',
    stored: 'stored',
    started: 'started',
  },
  columnTitles: {
    session: 'Name and note; by name',
    state: 'Live sessions come first',
    usage:
      'How full the pool was over the session’s steps: blocks in use, and above them free ones that hold content',
    engine: 'Model, engine and device',
    pool: 'Blocks × slots a block',
    steps: 'Steps that are recorded',
    operations: 'Operations on blocks; the most first',
    length: 'From the first record to the last',
    stored: 'What the recording takes on disk; the largest first',
    started: 'When the engine began; the newest first',
  },
  acts: 'Export and remove',
  sizes: (stored: string, sent: string) => `${stored} on disk, compressed; the engine sent ${sent}`,
  faults: (gaps: number, violations: number) =>
    [gaps > 0 ? plural(gaps, 'gap') : '', violations > 0 ? plural(violations, 'violation') : '']
      .filter(Boolean)
      .join(', '),
  states: {
    live: 'live',
    ended: 'ended',
    interrupted: 'interrupted',
    waiting: 'connection lost, waiting',
  },
  imported: 'imported',
  importedFixed: 'It is an imported file: it is only read',
  length: (ns: number) => span(ns),
  open: (name: string) => `Open ${name}`,
  usage: (most: number, last: number) =>
    `Usage: at most ${most.toFixed(0)} %, at the end ${last.toFixed(0)} % of the pool`,
  runner: (name: string) => `${name} runner`,
  noStep: 'no step',
  search: 'Search sessions',
  searchPlaceholder: 'Search   /',
  noMatch: (words: string) => `No session has “${words}” in its name, note or engine.`,
  showAll: (all: number) => `Show all ${n(all)}`,
  renameOf: (name: string) => `Rename ${name}`,
  renameTitle: 'Give it another name (F2)',
  noteOf: (name: string) => `Note of ${name}`,
  noteTitle: (said: string, step: number) =>
    `${said}\nBeside step ${n(step)}, in the recording; click to change it`,
  addNote: 'add a note',
  addNoteTitle: 'Write a note: it is kept in the recording, beside its last step (n)',
  notePlaceholder: 'What is worth knowing of this session?',
  noStepNote: 'A note stands beside a step, and this session has none yet',
  moreNotes: (more: number) => `and ${plural(more, 'more', 'more')}`,
  exportOf: (name: string) => `Export ${name}`,
  exportTitle: 'A file with this session alone, for kvarium or another program (e)',
  removeOf: (name: string) => `Remove ${name}`,
  removeTitle: 'Remove it from the disk (Delete)',
  liveStays: 'It is being recorded: end its engine first',
  removed: (name: string, freed: number, reusable: number) =>
    `Removed ${name}: ${bytes(freed)} given back to the disk${reusable > 0 ? `, ${bytes(reusable)} free in the recording’s file for what comes` : ''}.`,
  notChanged: 'Nothing was changed: the server does not answer. Is it running?',
  import: 'Import a file …',
  importTitle:
    'A kvarium file that somebody sent you: it is inspected, kept beside the recording, and only read. Or drop it anywhere on this page',
  drop: 'Drop it to import it',
  dropAdvice:
    'A kvarium file with one session: it is inspected first, stays a file of its own, and is only read.',
  noDrop: 'Nothing can be imported here',
  keys: [
    { key: '↑ ↓', does: 'choose' },
    { key: '↵', does: 'open' },
    { key: '/', does: 'search' },
    { key: 'F2', does: 'rename' },
    { key: 'n', does: 'note' },
    { key: 'e', does: 'export' },
    { key: 'Del', does: 'remove' },
  ],
} as const;

export const removal = {
  title: (name: string) => `Remove ${name}?`,
  what: (steps: string, operations: string, started: string, notes: number) =>
    `${steps} steps with ${operations} operations${notes > 0 ? ` and ${plural(notes, 'note')}` : ''}, recorded from ${started} on.`,
  frees: (stored: string) => `About ${stored} are given back to the disk.`,
  freesFile: 'Its file beside the recording goes. The one that it was copied from stays where it is.',
  forGood: 'This can’t be undone.',
  exportFirst: 'Export it first …',
  keep: 'Keep it',
  remove: 'Remove it',
} as const;

export const formats = {
  kvarium: { name: 'kvarium file', what: 'the recording alone; kvarium view opens it anywhere' },
  parquet: { name: 'Parquet', what: 'the tables of SQL, for DuckDB, pandas, Polars; one ZIP' },
  jsonl: { name: 'JSONL', what: 'a line a decision and operation, in order' },
  perfetto: { name: 'Perfetto trace', what: 'lanes and counters for ui.perfetto.dev' },
  html: { name: 'HTML page', what: 'opens from disk and replays without a server' },
} as const;

export const exporting = {
  title: (name: string) => `Export ${name}`,
  format: 'Format',
  steps: 'Steps',
  from: 'from',
  to: 'to',
  wrongSteps: (last: number) => `steps are 0 to ${n(last)}, the first not after the last`,
  text: 'Prompts and tokens',
  strips: { full: 'as they were recorded', hash: 'left out; hashes say what is the same', none: 'left out' },
  withText: 'Whoever gets the file can read what was asked and answered.',
  withoutText: 'Names of requests and notes stay in it: mind what they say.',
  soFar: 'The session is live: it is exported as far as it has come.',
  recorded: (stored: string) => `The recording has ${stored}.`,
  cancel: 'Cancel',
  export: 'Export',
} as const;

export const transfers = {
  title: 'Files on their way',
  importOf: (name: string) => `Import of ${name}`,
  exported: (name: string, format: string) => `${name} as ${format}`,
  waiting: () => 'waiting for the one before it',
  making: (seconds: number) => `the server writes it … ${seconds} s`,
  checking: (seconds: number) => `the server inspects it … ${seconds} s`,
  moving: (done: string, total: string, share: string) => `${done} of ${total}, ${share}`,
  imported: 'It is let in.',
  saved: (size: string) => `saved, ${size}`,
  cancel: (name: string) => `Give up: ${name}`,
  gone: 'The server does not answer: is it running? Nothing came of it.',
  givenUp: 'It was given up.',
} as const;

export const stage = {
  opening: 'Opening the session …',
  joining: 'Waiting for the state of the engine …',
  seeking: (step: number) => `Loading step ${n(step)} …`,
  noState: 'This session holds no step.',
  failed: 'This session could not be opened.',
  back: 'All sessions',
  cutOff: 'This file holds no whole recording.',
  cutOffAdvice: 'Its end is missing: it was cut off, most likely on its way here. Fetch or export it again.',
  linkLost:
    'The connection to the server is lost. It is tried again by itself; what is loaded can still be read.',
  retryNow: 'Try now',
  engineGone: 'The connection to the engine is lost: the server waits for it. What it did is recorded.',
  wrongStep: (said: string) =>
    `The address asks for step ${said}: a step is a whole number, 0 or more. It is opened without it.`,
  wrongPart: (said: string) =>
    `The address says “${said}”, which this page does not have; it is shown as if it did not say so`,
  wrongWish: (said: string) =>
    `The address asks for ${said}: text is none or full, and rate a number from 0.1 to 60. It is opened without it.`,
  unreadable: (said: string) =>
    `The server answered what this page can’t read: ${said === '' ? 'nothing' : `“${said}”`}. Is it of another version? Load the page again.`,
  dismiss: 'Dismiss',
  newcomer: (name: string) => `A new session is live${name === '' ? '.' : `: ${name}.`}`,
  openIt: 'Open it',
} as const;
