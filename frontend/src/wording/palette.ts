/** What the command palette says, and the link to what is shown. */

import { integer } from '../format';
import { plural } from './plural';

const n = integer;

export const palette = {
  title: 'Commands',
  hint: 'A command, “block 42”, a step, a time, a request, a session',
  none: (typed: string) => `Nothing here is called “${typed}”.`,
  noneAdvice: 'Try fewer letters, “block 42”, a step’s number, or a time of the session such as 12.5s.',
  recent: 'used lately',
  found: (count: number) => plural(count, 'command'),
  theme: 'Theme',
  themes: { dark: 'Dark theme', light: 'Light theme', system: 'Theme as the system has it' },
  language: 'Language',
  /** In which language the page speaks, by that language's own name. */
  speak: (name: string) => `Language: ${name}`,
  colouring: (by: string) => `Colour the map by ${by}`,
  session: (name: string) => `Open session ${name}`,
  sessionDetail: (state: string, steps: number) => `${state} · ${plural(steps, 'step')}`,
  request: (request: number, name: string) => `Request r${request}${name === '' ? '' : ` ${name}`}`,
  block: (block: number) => `Block ${n(block)}: select it and show it on the map`,
  go: (to: string) => `Go to ${to}`,
  why: {
    noSession: 'open a session first',
    notStopped: 'no breakpoint holds the engine',
    noControl: 'the engine behind this session does not take commands',
    noCache: 'there is no prefix cache to reset',
    noChange: 'select a block or a request first',
    noEvent: 'click an event in the list first',
    noFilter: 'no panel that is shown has a filter',
    notHere: 'in a session only',
    nothingSelected: 'nothing is selected',
    noBlockSelected: 'select a block first',
    noRequestSelected: 'select a request first',
    isOpen: 'it is open',
    noBlock: (count: number) => `the pool has ${plural(count, 'block')}: 0 to ${n(Math.max(0, count - 1))}`,
  },
} as const;

export const share = {
  copied: (step: number | null) =>
    step === null
      ? 'Link copied: it leads to this session’s live end. Pause first to share a step.'
      : `Link copied: it leads to step ${n(step)}, with what is selected.`,
  title: 'A link to what is shown',
  refused: 'The clipboard can’t be used here; copy it with Ctrl+C.',
  close: 'Close',
} as const;
