/** What stands beside the text of a request: its tokens, how likely they were, its beams and its end. */

import { integer } from '../format';
import { plural } from './plural';
import { stop } from './stop';

const n = integer;

export const said = {
  prompt: 'Prompt',
  tokens: (count: number) => plural(count, 'token'),
  loading: 'Loading what was said …',
  notRecorded: 'The text of this session is not recorded (--record-text none or hash, or --strip-text).',
  nothingYet: 'nothing yet',
  missing: (count: number | null) =>
    count === null
      ? 'some tokens are not recorded'
      : `${plural(count, 'token')} ${count === 1 ? 'is' : 'are'} not recorded`,
  cutAfter: (count: number) => `${plural(count, 'more token')}`,
  cutBefore: (count: number) => `${plural(count, 'token')} before this`,
  idsTitle: 'Tokens without text, by their ids',
  dropped: 'ended',
} as const;

export const odds = {
  shade: 'shade by probability',
  scale: ['≥ 50 %', '20', '5', '1', '< 1'],
  scaleTitle: 'How likely the model held each token, before penalties and temperature',
  token: (token: number) => `token ${token}`,
  rank: (rank: number) => `rank ${n(rank)}`,
  logprob: (token: number, logprob: number) => `token ${token} · logprob ${logprob.toFixed(3)}`,
  several: (count: number) => `the first of ${count} tokens that write this character together`,
} as const;

export const ending = (reason: string, by: number | string | null): string => `${reason}${stop(by)}`;

export const beams = {
  title: 'Beams',
  live: (count: number, width: number) => `${n(count)} of ${n(width)}`,
  noneLives: 'No beam lives at this step.',
  of: (parent: string) => `from ${parent}`,
  answers: 'Answers',
  found: (count: number, wanted: number) => `${n(count)} found, ${n(wanted)} wanted`,
  noneFound: 'None found yet.',
  rank: (rank: number) => `${rank + 1}.`,
  score: (score: number) => score.toFixed(3),
  scoreTitle:
    'The sum of its tokens’ log probabilities, divided by its length to the power of the length penalty',
  row: (tokens: number | null, reason: string, step: number) =>
    `${tokens === null ? '' : `${plural(tokens, 'token')} · `}${reason} at step ${n(step)}`,
  rest: 'not among the answers',
  width: 'beam width',
  wanted: 'answers',
} as const;
