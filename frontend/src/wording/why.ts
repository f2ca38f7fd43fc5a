/** What answers to *why* say. */

export const why = {
  gone: 'The server does not answer: is it running?',
  ended: 'The question was ended.',
  noSession: 'No session is open.',
  notInPage:
    'This page holds no answer to this: only those that were made when it was exported. On the recording itself, `kvarium why` has them all.',
} as const;
