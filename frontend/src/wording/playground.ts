/** What the playground says. */

import { integer } from '../format';
import { plural } from './plural';

const n = integer;

/** What of a request goes on: all that it said, the first of its samples, or a beam search's best answer. */
export type Part = 'all' | 'first' | 'best';

export const playground = {
  prompt: 'Prompt',
  placeholder: 'Write a prompt. Ctrl+Enter sends it, ↑ brings back the last one.',
  system: 'System prompt',
  systemPlaceholder: 'What the model is told first (may be left empty)',
  chat: 'chat template',
  chatTitle: 'Put the prompt into the model’s chat template, as a user’s message',
  /** Of several samples it is the first one's conversation that goes on, of a beam search the best answer's. */
  follows: (request: number, part: Part) =>
    `continues r${request}${part === 'first' ? '.0' : part === 'best' ? '’s best answer' : ''}`,
  unfollow: 'Begin a new conversation instead',
  titles: {
    n: 'How many sequences answer this one prompt; they share its blocks. Of a beam search: how many answers',
    max_tokens: 'The most tokens that each sequence samples',
    temperature: '0 takes the likeliest token each time',
    top_k: 'Only the k likeliest tokens; 0: all',
    top_p: 'Only the likeliest tokens that together reach p; 1: all',
    min_p: 'Only tokens at least this likely, relative to the likeliest; 0: all',
    seed: 'The same seed gives the same tokens; empty: another one each time',
    repetition_penalty: 'Above 1: tokens of prompt and output become less likely; 1: off',
    presence_penalty: 'Taken from the logit of each token that the output has; 0: off',
    frequency_penalty: 'Taken from the logit of a token each time that the output has it; 0: off',
    logit_bias: 'Added to the logits of tokens, from −100 to 100: id: number, with commas between',
    stop: 'Texts that end a sequence, one a line; \\n is a new line, \\t a tab',
    stop_token_ids: 'Token ids that end a sequence, with commas or spaces between',
    min_tokens: 'Before so many tokens nothing but the length ends a sequence',
    ignore_eos: 'Go on to the last token, even when the model would end',
    logprobs:
      'Tell how likely each sampled token was, and so many of the likeliest tokens; 0: only the sampled one',
    beam_width: 'Keep so many beams at each step, by the likelihood of all their tokens',
    length_penalty:
      'Scores are divided by the length to this power: above 0 favours long answers, below 0 short ones',
    early_stopping:
      'When a search ends: at n answers (true), when no better one is likely (false), or when none is possible (never)',
    priority: 'Smaller is sooner, where the engine schedules by priority',
    cache_salt: 'With another salt the same tokens are another prefix: nothing is shared with them',
    lora_name: 'The name of an adapter is a part of its blocks’ hashes; this runner has no tensors to adapt',
  },
  more: 'Sampling',
  reset: 'Reset',
  resetTitle: 'All fields as they were at the beginning',
  groups: {
    draw: 'What is drawn',
    end: 'What ends it',
    beam: 'Beam search',
    told: 'Logprobs, queue and cache',
  },
  placeholders: {
    stop: 'one text a line',
    stop_token_ids: '13, 2',
    logit_bias: '42: -5, 7: 100',
    seed: 'any',
    logprobs: 'off',
    beam_width: 'off',
    cache_salt: 'none',
    lora_name: 'none',
  },
  earlyStopping: { '': 'false', true: 'true', never: 'never' },
  /** Why a field is grey. */
  reasons: {
    drawsNothing: 'a beam search draws nothing, it takes the likeliest continuations',
    notTaken: 'not taken by a beam search',
    noBeams: 'only with beam_width',
    noLogits: 'the null runner has no logits',
    noAdapters: (runner: string) => `the ${runner} runner loads no adapters`,
    fcfs: 'this engine serves first come, first served (--scheduling-policy priority changes that)',
    noCache: 'this engine has no prefix cache',
  },
  /** Which fields rest, and why. */
  rest: (fields: readonly string[], why: string) => `${fields.join(', ')}: ${why}.`,
  send: 'Send',
  sending: 'Sending …',
  sendKey: 'Ctrl ↵',
  presets: 'Try',
  presetNames: { samples: '3 samples', long: 'long prompt', system: 'shared system prompt' },
  presetTitles: {
    samples:
      'One prompt, three answers: they share the prompt’s blocks, and copy the last one when they write',
    long: 'Many blocks at once, in chunks where the token budget is small',
    system: 'Send it, change the question, send again: the second one finds the first one’s blocks',
  },
  rules: {
    whole: (low: number, high: number) => `a whole number from ${n(low)} to ${n(high)}`,
    wholeFrom: (low: number) => `a whole number, ${n(low)} or more`,
    between: (low: number, high: number) => `a number from ${low} to ${high}`,
    atMost: (other: string, most: number) => `at most ${other} = ${n(most)}`,
    stops: (most: number, longest: number) => `at most ${n(most)} texts of at most ${n(longest)} characters`,
    ids: 'token ids with commas or spaces between',
    pairs: 'id: number with commas between, each number from −100 to 100',
    temperature: 'a number, 0 or more',
    topP: 'a number above 0 and at most 1',
  },
  mustBe: (field: string, rule: string, typed: string) => `${field} must be ${rule}, not ${typed}.`,
  noPrompt: 'Write a prompt first.',
  replay: 'The engine of this session has ended: nothing can be sent to it.',
  replayAdvice: 'What was sent is in the tables, the events and the inspector.',
  notLinked: 'The engine is not connected: what is sent now is refused.',
  held: 'The engine is held: a request waits until it is released.',
  noAnswer: 'The server does not answer. What you typed is still here.',
  refused: (why: string) => `Refused: ${why}.`,
  sent: 'Sent',
  none: 'What you send appears here, with its blocks and its text as it grows.',
  abort: 'Abort',
  followUp: (request: number, part: Part) =>
    part === 'all' ? 'Follow up' : part === 'best' ? 'Follow up the best' : `Follow up r${request}.0`,
  followUpTitle: (part: Part) =>
    `Go on with ${part === 'all' ? 'this conversation' : part === 'best' ? 'the best answer' : 'the first sample'}: its tokens, and their blocks, are used again`,
  waitingForStep: 'sent; it appears with the engine’s next step',
  notHere: 'not there yet at the step that is shown',
  waits: (why: string) => `waiting: ${why}`,
  preempted: (why: string) => `preempted: ${why}`,
  prefill: (done: number, all: number) => `prefill ${n(done)} / ${n(all)}`,
  prefilling: 'prefill',
  decoding: 'decoding',
  finished: (reason: string | null) => `finished${reason === null ? '' : ` · ${reason}`}`,
  aborted: 'aborted',
  blocks: (all: number, shared: number) =>
    shared === 0
      ? plural(all, 'block')
      : `${plural(all, 'block')}: ${n(shared)} shared, ${n(all - shared)} own`,
  tokens: (prompt: number, sampled: number) => `${n(prompt)} + ${n(sampled)} tokens`,
  rate: (rate: number) => `${rate < 100 ? rate.toPrecision(3) : n(rate)} tok/s`,
  announce: (request: number, state: string) => `r${request}: ${state}`,
  samples: {
    ask: 'Tell me a short story about a lighthouse.',
    system:
      'You are the keeper of a small museum of clocks. You answer visitors kindly and briefly, in plain words, you never ' +
      'guess, and when you do not know something you say so. The museum is open from ten to five, closed on Mondays, ' +
      'and children enter free.',
    question: 'When may I come, and what does it cost for a child?',
    long:
      'Read this and say in one sentence what it is about.\n\n' +
      'Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or ' +
      'twice she had peeped into the book her sister was reading, but it had no pictures or conversations in it, “and ' +
      'what is the use of a book,” thought Alice “without pictures or conversations?” So she was considering in her own ' +
      'mind (as well as she could, for the hot day made her feel very sleepy and stupid), whether the pleasure of making ' +
      'a daisy-chain would be worth the trouble of getting up and picking the daisies, when suddenly a White Rabbit with ' +
      'pink eyes ran close by her. There was nothing so very remarkable in that; nor did Alice think it so very much out ' +
      'of the way to hear the Rabbit say to itself, “Oh dear! Oh dear! I shall be late!” But when the Rabbit actually ' +
      'took a watch out of its waistcoat-pocket, and looked at it, and then hurried on, Alice started to her feet, for ' +
      'it flashed across her mind that she had never before seen a rabbit with either a waistcoat-pocket, or a watch to ' +
      'take out of it, and burning with curiosity, she ran across the field after it, and fortunately was just in time ' +
      'to see it pop down a large rabbit-hole under the hedge.',
  },
} as const;
