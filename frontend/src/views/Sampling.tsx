/** How a request is sampled: what the command that submitted it asked for, by the names that it takes. */

import { text } from '../text';
import type { RequestAnswer } from '../worker/answers/request';
import { NOT_RECORDED } from '../worker/careers';

const words = text.inspector.sampling;

/** What says how a request is sampled and what ends it, in the order in which one reads it. */
const NAMES = [
  ...[
    'temperature',
    'top_p',
    'top_k',
    'min_p',
    'seed',
    'n',
    'beam_width',
    'length_penalty',
    'early_stopping',
  ],
  ...['repetition_penalty', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs'],
  ...['min_tokens', 'max_tokens', 'ignore_eos', 'stop', 'stop_token_ids'],
];

export function Sampling({ submit }: Pick<RequestAnswer, 'submit'>) {
  const args = submit === null || submit === NOT_RECORDED ? {} : submit;
  const asked = NAMES.flatMap((name) => [name, `${name}_length`]).filter((name) => args[name] != null);
  return (
    <>
      <dt>{words.title}</dt>
      <dd class="sampling" title={submit === NOT_RECORDED ? words.notRecordedTitle : words.asked}>
        {submit === null ? (
          <span class="faint">{words.loading}</span>
        ) : submit === NOT_RECORDED ? (
          <span class="faint">{text.tables.notRecorded}</span>
        ) : asked.length === 0 ? (
          <span class="faint">{words.defaults}</span>
        ) : (
          asked.map((name) => (
            <span key={name}>
              {name} <b class="num">{String(args[name])}</b>{' '}
            </span>
          ))
        )}
      </dd>
    </>
  );
}
