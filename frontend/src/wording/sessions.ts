/** What is said of sessions: their list, and one that is being opened. */

import { integer, span } from '../format';
import { plural } from './plural';

const n = integer;

export const sessions = {
  unknown: (id: string) => `There is no session ${id} here.`,
  unknownAdvice:
    'It may have been recorded by another server, or into another file. These are the sessions of this one:',
  title: 'Sessions',
  loading: 'Asking the server …',
  starting: 'The engine is starting.',
  startingAdvice: 'It loads its model; the screen opens by itself as soon as it runs.',
  empty: 'Nothing is recorded yet.',
  emptyAdvice: 'Start an engine beside this server, then it appears here:',
  emptyCommand: 'kvarium engine --connect ws://127.0.0.1:8642/api/engine',
  failed: 'The server does not answer.',
  failedAdvice: 'Is it running? Start it, and this page goes on by itself:',
  failedCommand: 'kvarium serve',
  retry: 'Try again',
  columns: [
    'session',
    'state',
    'engine',
    'pool',
    'steps',
    'operations',
    'length',
    'stored',
    'started',
    'file',
  ],
  stored: 'stored',
  storedTitle: 'What the recording takes on disk; in each row also what the engine sent',
  sizes: (stored: string, sent: string) => `${stored} on disk, compressed; the engine sent ${sent}`,
  download: 'download',
  downloadTitle: 'One file with this session alone',
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
  length: (ns: number) => span(ns),
  open: (name: string) => `Open ${name}`,
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
  dismiss: 'Dismiss',
  newcomer: (name: string) => `A new session is live${name === '' ? '.' : `: ${name}.`}`,
  openIt: 'Open it',
} as const;
