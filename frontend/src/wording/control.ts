/** Control of the engine, and where it stops. */

import type { Breakpoint, Hit } from '../ledger/generated/types';
import { plural } from './plural';

const where = (hit: Hit): string => {
  const what = [
    hit.block === undefined || hit.block === null ? '' : `block ${hit.block}`,
    hit.request === undefined || hit.request === null ? '' : `r${hit.request}`,
  ].filter((each) => each !== '');
  return what.length === 0 ? `step ${hit.step}` : `step ${hit.step}, ${what.join(', ')}`;
};

export const control = {
  runsTo: (step: number) => `engine runs to step ${step}`,
  slow: (rate: number) => `≤ ${rate} steps/s`,
  slowTitle: 'The engine is slowed: it takes no more steps a second than this',
  stopped: (hit: Hit) => `engine stopped by breakpoint ${hit.breakpoint}`,
  stoppedShort: (hit: Hit) => `breakpoint ${hit.breakpoint}`,
  stoppedAt: (hit: Hit) => where(hit),
  stoppedTitle: (hit: Hit, when: string) =>
    `${when}\nmet for the ${hit.count}. time at ${where(hit)}: go there`,
  open: 'breakpoints',
  openTitle: (count: number) =>
    count === 0
      ? 'Stop the engine where something happens, run it to a step, slow it'
      : `${plural(count, 'breakpoint')} set: the engine stops, or marks, where one is met`,
  title: 'Where the engine stops',
  predicate: 'Stop when',
  placeholder: 'op:evict owner:r17   usage>90%   waiting>2s   violation …',
  clear: 'Clear the predicate',
  unchecked: (why: string) => `It could not be checked. ${why}`,
  fault: (at: number, why: string) => `At character ${at + 1}: ${why}`,
  offers: 'What may stand here',
  keys: '↑ ↓ choose · ↵ or ⇥ takes it · space: and · or · - excludes · ( )',
  hits: 'from hit',
  hitsTitle: 'It stops, or marks, at this hit and in each step with one from there on',
  mark: 'only mark',
  markTitle: 'A landmark in the recording: the engine goes on',
  set: 'set',
  none: 'None is set.',
  list: 'Breakpoints',
  does: ({ mark }: Pick<Breakpoint, 'mark'>) => (mark ? 'marks' : 'stops'),
  met: ({ count, hits }: Pick<Breakpoint, 'count' | 'hits'>) =>
    `met ${count ?? 0}×${(hits ?? 1) > 1 ? `, counts from ${hits}` : ''}`,
  last: (hit: Hit) => `last at ${where(hit)}`,
  lastTitle: 'Go to where it was met last',
  enable: (when: string) => `Look for ${when}`,
  remove: (when: string) => `Remove ${when}`,
  runTo: 'Run to step',
  go: 'run',
  rate: 'Steps a second',
  unlimited: 'as many as can be',
  slowDown: 'limit',
  fullSpeed: 'no limit',
  recordedTitle: 'Where the engine would stop, at this session’s end',
  asking: 'The recording is being read …',
  notTold: (why: string) => `They can’t be told: ${why}.`,
  noneRecorded: 'No breakpoint was set.',
  notRecorded: 'not recorded, as text is not',
  off: 'off',
  again: 'set again',
  againTitle: (session: string) => `Set it on the engine of ${session}`,
  noTarget: 'No engine that takes commands is linked to this server',
  setAgain: (breakpoint: number, session: string) =>
    `Breakpoint ${breakpoint} is set on the engine of ${session}.`,
  like: 'Break on events like this…',
  likeTitle: (predicate: string) => `Stop the engine, or only mark, where ${predicate}`,
  likeShort: 'break…',
  noKind: 'the engine does not know of gaps',
  conditions: {
    'hash:': 'a content whose hash begins so',
    'text:': 'a content, or a prompt that comes in, whose text begins so',
    'usage>': 'so much of the pool is used: 0.9, 90%',
    'free<': 'fewer blocks are free',
    'hit_rate<': 'the prefix cache hits less: 0.2, 20%',
    'waiting>': 'a request has waited longer: 2s, 250ms',
    'preempted>': 'a request is preempted more often',
    violation: 'a mirror finds the state wrong',
  },
} as const;
