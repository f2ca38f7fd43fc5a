/** What the filter of events says: its fields, what may stand there, and what is wrong. */

import type { Fault, Field } from '../filter/filter';

const OF: Readonly<Partial<Record<Field, string>>> = {
  op: 'operation',
  decision: 'decision',
  cause: 'cause',
};

function why({ why, said, field, nearest }: Fault): string {
  const meant = nearest === undefined ? '' : `; did you mean ${nearest}?`;
  switch (why) {
    case 'field':
      return `“${said}:” — no such field${meant}`;
    case 'name':
      return `“${field}:${said}” — no such ${OF[field!]}${meant}`;
    case 'number':
      return `“${said}” is no number, and no range of them: 42, 40..50, 40.., ..50${field === 'block' ? ', or 42#3 for one life' : ''}`;
    case 'time':
      return `“${said}” is no time: 12.5s, 3m, +1:02, or the wall clock’s 14:03:10; a range has two dots`;
    case 'hex':
      return `“${said}” is no beginning of a hash: its hexadecimal digits, at most 64`;
    case 'order':
      return `“${said}” ends before it begins`;
    case 'generation':
      return `“${said}”: only a single block has a generation, as 42#3`;
    case 'empty':
      return field === undefined ? 'Something is missing here' : `“${field}:” — of which? Type a value`;
    case 'quote':
      return 'A quote stands around the whole of a value; within one it is written \\"';
    case 'open':
      return 'This quote is not closed';
  }
}

export const filter = {
  label: 'Filter of events',
  placeholder: 'op:evict  owner:r17  block:42#3  step:100..200 …',
  clear: 'Clear the filter',
  fault: (fault: Fault) => `At character ${fault.at + 1}: ${why(fault)}`,
  recent: 'used before',
  offers: 'What may stand here',
  fields: {
    op: 'what happened to a block: allocate, evict …',
    decision: 'what was decided of a request: preempted, admitted …',
    cause: 'why it happened: allocate, prefix_hit, finished …',
    block: 'a block, a range, or one life: 42, 40..50, 42#3',
    owner: 'the request that it served: r17, r17.1, its name, none',
    seq: 'the number of a sequence',
    content: 'the number of a content',
    hash: 'the beginning of a content’s hash: ab12',
    step: 'a step or a range: 100, 100..200, 100..',
    record: 'a record or a range of them',
    time: '12.5s, 3m of the session; 14:03:10 of the wall clock',
  } satisfies Record<Field, string>,
  keys: '↑ ↓ choose · ↵ or ⇥ takes it · - before a term excludes · commas: any of them',
} as const;
