/** What the line at the foot says. */

import { integer } from '../format';

const n = integer;

export const footer = {
  mirror: 'mirror',
  verified: 'verified',
  unverified: 'unverified',
  waiting: 'waiting',
  wrong: 'WRONG',
  atRecord: (record: number) => `at record ${n(record)}`,
  engine: 'engine:',
  operations: 'operations',
  operationsTitle: 'What the engine does now, wherever the view is',
  lag: 'lag',
  lagTitle: 'From the sealing of a record in the engine to this page (the two clocks must agree)',
  less: 'asked for:',
  noText: 'no text',
  rate: (rate: number) => `at most ${rate} a second`,
  lessTitle:
    'What the address of this page asks for (text, rate); what was said is fetched when somebody looks at it',
  gaps: 'gaps',
  hits: 'prefix hits',
  hitsTitle: (hits: number, queries: number) =>
    `${n(hits)} of ${n(queries)} tokens were found in the prefix cache when their requests first began to run`,
  ledger: 'ledger',
  ofStep: 'of a step',
  recording: 'recording',
  exported: (when: string, version: string) => `exported ${when} by kvarium ${version}`,
  answers: (held: number, of: number) => `${n(held)} of ${n(of)} answers`,
  answersTitle: (kinds: string) =>
    `Findings and answers to why that this page holds, made when it was exported: ${kinds}. The recording itself gives the others: kvarium why.`,
  part: (from: number, to: number, last: number) => `steps ${n(from)} to ${n(to)} of ${n(last + 1)}`,
  sizeTitle: (file: string | null) =>
    `What this session takes, compressed${file === null ? '' : `; the file with all that is in it, and its journal: ${file}`}`,
  serverFault: 'the server’s fold found a fault',
  recordingError: 'not recorded',
  keys: 'keys',
  clock: 'session time',
} as const;
