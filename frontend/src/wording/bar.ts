/** What the bar at the top says: the session, the step, the engine and the light. */

import { integer, percent } from '../format';
import type { Doubt } from '../worker/protocol';
import { plural } from './plural';

const n = integer;

export const bar = {
  live: 'live',
  replay: 'replay',
  interrupted: 'interrupted',
  interruptedTitle: 'A recording whose engine or server went away without a word: its end may be missing',
  engineAway: 'engine —',
  engineAwayTitle: 'The connection is lost: how the engine goes is not known',
  linkLost: 'server lost',
  connecting: 'connecting',
  engineGone: 'connection lost, waiting',
  engineGoneTitle: 'The engine’s connection to the server is lost; the session ends if it does not come back',
  behind: (steps: number) => `${n(steps)} behind`,
  first: 'First step',
  back: 'One step back',
  forward: 'One step on',
  pause: 'Pause the view',
  play: 'Play',
  follow: 'follow',
  end: 'end',
  followTitle: 'Steps behind the live end: follow it',
  endTitle: 'Go to the last step',
  step: 'step',
  used: (part: number, whole: number) => `${percent(part, whole)} used`,
  usageTitle: (active: number, shared: number, cached: number, free: number, usable: number) =>
    `active ${n(active)} · shared ${n(shared)} · cached, free ${n(cached)} · free ${n(free)}\n` +
    `used = (active + shared) ÷ ${n(usable)} usable blocks, as vLLM counts it`,
  engineRuns: 'engine running',
  engineHeld: 'engine held',
  hold: 'hold',
  release: 'release',
  stepEngine: 'step engine',
  stepEngineTitle: 'Let the engine do one step',
  holdTitle: 'Hold the engine itself, for everybody who watches',
  releaseTitle: 'Let the engine go on',
  resetCache: 'reset cache',
  resetCacheTitle: 'Reset the prefix cache: no block keeps its content. Only while no block is in use',
  sessions: 'All sessions',
  theme: (to: string) => `Use the ${to} theme`,
  keys: 'Keys',
} as const;

export const engine = {
  reset: (blocks: number) =>
    blocks === 0
      ? 'The prefix cache was empty already.'
      : `The prefix cache is reset: ${plural(blocks, 'block')} lost ${blocks === 1 ? 'its' : 'their'} content.`,
  notReset: (why: string) => `The prefix cache is not reset: ${why}.`,
} as const;

function why(doubt: Doubt | null): string {
  switch (doubt?.kind) {
    case 'unreadable':
      return 'a record could not be read';
    case 'slow':
      return `this page was too slow: records ${n(doubt.first)} to ${n(doubt.last)} were left out for it`;
    case 'less':
      return `this page asked for less: records ${n(doubt.first)} to ${n(doubt.last)} were left out for it`;
    case 'lost':
      return `records ${n(doubt.first)} to ${n(doubt.last)} are lost: ${doubt.why}`;
    default:
      return 'no record folded yet';
  }
}

export const light = {
  green: 'verified',
  grey: 'unverified',
  red: 'fault',
  waiting: 'waiting for the first step',
  waitingTitle: 'The engine has done nothing yet: there is nothing to verify.',
  greenTitle: (record: number) =>
    `This page folded record ${n(record)} itself, and its digests equal those that the engine sent.`,
  withinTitle: (step: number, record: number) =>
    `Within step ${n(step)}: this page folded its record ${n(record)} to the end, where the digests were equal, and undid what lies behind here.`,
  greyTitle: (doubt: Doubt | null) => `Nothing is verified here: ${why(doubt)}.`,
  redTitle: (record: number, message: string) => `At record ${n(record)}: ${message}`,
  alarm: (record: number) => `This mirror went wrong at record ${n(record)}.`,
  alarmAdvice:
    'What is shown from there on can’t be trusted. The light stays red until the page is loaded again.',
} as const;
