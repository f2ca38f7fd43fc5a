/** What the SQL panel says. */

import { bytes, integer } from '../format';
import { plural } from './plural';

const n = integer;

export const sql = {
  query: 'SQL query',
  placeholder: 'SELECT … FROM block_event',
  questions: 'Worked questions',
  question: 'questions',
  history: 'Queries asked before',
  before: 'asked before',
  noneBefore: 'Nothing was asked yet',
  run: 'Run',
  runTitle: 'Ask the recording (Ctrl+Enter)',
  stop: 'Stop',
  limit: 'At most so many rows',
  rows: (rows: number) => `${n(rows)} rows`,
  tables: 'tables',
  tablesTitle: 'The tables and their columns',
  insert: (name: string) => `Put ${name} into the query`,
  guideFailed: (reason: string) => `The tables could not be told: ${reason}`,
  running: (seconds: number) => `running … ${n(seconds)} s`,
  gone: 'The server does not answer: is it running?',
  count: (rows: number, isCut: boolean) => (isCut ? `the first ${plural(rows, 'row')}` : plural(rows, 'row')),
  took: (ms: number) => `${n(ms)} ms`,
  cut: (isMoreAllowed: boolean) =>
    isMoreAllowed ? 'there are more: ask for more, or use LIMIT' : 'there are more: use LIMIT',
  cutTitle: 'An answer is cut at the number of rows that is asked for, or at 16 MiB',
  none: 'No row answers this.',
  limits: (seconds: number, memory: number) =>
    `A query reads this recording and nothing else, for at most ${n(seconds)} s and in ${bytes(memory)}; a live one as far as it is committed.`,
  sort: (column: string) => `In order of ${column}`,
  copy: 'copy as CSV',
  copied: 'copied',
  notCopied: 'The browser lets this page copy nothing: save it as CSV',
  csv: 'CSV',
  json: 'JSON',
  saveAs: (what: string) => `Save these rows as ${what}`,
  goThere: (line: number, column: number) => `line ${n(line)}, column ${n(column)}: go there`,
  links: {
    step: 'Go to this step',
    op: 'Go right behind this operation',
    block: 'Select this block',
    request: 'Select this request',
    sequence: 'Select this sequence',
  },
} as const;
