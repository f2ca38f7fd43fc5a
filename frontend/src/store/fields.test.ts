import { describe, expect, test } from 'vitest';
import {
  argumentsOf,
  changed,
  DEFAULTS,
  type Engine,
  FIELDS,
  type Field,
  faultOf,
  fieldNamed,
  type Typed,
  whyNot,
} from './fields';

const TORCH: Engine = {
  runner: 'torch',
  config: { max_num_seqs: 8, scheduling_policy: 'priority', enable_prefix_caching: true },
};
const NULL: Engine = { runner: 'null', config: { ...TORCH.config, scheduling_policy: 'fcfs' } };
const typed = (changes: Partial<Typed> = {}): Typed => ({ ...DEFAULTS, ...changes });

describe('the fields of a request', () => {
  test('that are empty are not sent: the engine’s defaults hold', () => {
    expect(argumentsOf(typed(), TORCH)).toEqual({ n: 1, max_tokens: 64, temperature: 0.8 });
    expect(argumentsOf(typed({ n: '', max_tokens: ' ', temperature: '' }), TORCH)).toEqual({});
  });

  test('are read as the engine wants them', () => {
    const said = typed({
      stop: 'END\\n\n\n ###\\\\n',
      stop_token_ids: '13, 2;7  9',
      logit_bias: '42: -5, 7=100\n9: .5',
      ignore_eos: 'true',
      top_p: '0,9',
      min_tokens: '3',
      logprobs: '5',
      cache_salt: ' a b ',
      priority: '-2',
    });
    for (const field of FIELDS) expect(faultOf(field, said, TORCH), field).toBeNull();
    expect(argumentsOf(said, TORCH)).toEqual({
      ...{ n: 1, max_tokens: 64, temperature: 0.8, top_p: 0.9, min_tokens: 3, logprobs: 5 },
      stop: ['END\n', ' ###\\n'],
      stop_token_ids: [13, 2, 7, 9],
      logit_bias: { 42: -5, 7: 100, 9: 0.5 },
      ignore_eos: true,
      cache_salt: ' a b ',
      priority: -2,
    });
  });

  test.each<[Field, string, string]>([
    ['n', '9', 'n must be a whole number from 1 to 8, not 9.'],
    ['n', '2.5', 'n must be a whole number from 1 to 8, not 2.5.'],
    ['max_tokens', 'many', 'max_tokens must be a whole number, 1 or more, not “many”.'],
    ['min_tokens', '65', 'min_tokens must be at most max_tokens = 64, not 65.'],
    ['temperature', '-1', 'temperature must be a number, 0 or more, not -1.'],
    ['top_p', '0', 'top_p must be a number above 0 and at most 1, not 0.'],
    ['min_p', '1.1', 'min_p must be a number from 0 to 1, not 1.1.'],
    ['presence_penalty', '3', 'presence_penalty must be a number from -2 to 2, not 3.'],
    ['logprobs', '21', 'logprobs must be a whole number from 0 to 20, not 21.'],
    ['stop_token_ids', '1, x', 'stop_token_ids must be token ids with commas or spaces between, not “1, x”.'],
  ])('%s of %s is told to be wrong', (field, said, fault) => {
    expect(faultOf(field, typed({ [field]: said }), TORCH)).toBe(fault);
  });

  test.each(['a: 1', '1', '1: 101', '1: x', '4294967296000: 1', '1: --2'])(
    'no bias is read in %s',
    (said) => {
      expect(faultOf('logit_bias', typed({ logit_bias: said }), TORCH)).toMatch(
        /^logit_bias must be id: number/,
      );
    },
  );

  test('that a beam search has no use for rest while there is a width, and are not sent', () => {
    const said = typed({ temperature: 'nonsense', top_k: '5', seed: '1', length_penalty: '2', n: '2' });
    expect(whyNot('length_penalty', said, TORCH)).toBe('only with beam_width');
    expect(argumentsOf({ ...said, temperature: '1' }, TORCH)).not.toHaveProperty('length_penalty');
    const search = { ...said, beam_width: '4', early_stopping: 'never', stop: 'END' };
    for (const [reason, fields] of [
      ['draws nothing', ['temperature', 'top_k', 'top_p', 'min_p', 'seed']],
      ['not taken', ['stop', 'presence_penalty', 'frequency_penalty', 'logprobs']],
    ] as const) {
      for (const field of fields) {
        expect(whyNot(field, search, TORCH), field).toMatch(reason);
        expect(faultOf(field, search, TORCH), field).toBeNull();
      }
    }
    expect(argumentsOf(search, TORCH)).toEqual({
      ...{ n: 2, max_tokens: 64, beam_width: 4, length_penalty: 2, early_stopping: 'never' },
    });
    expect(faultOf('n', { ...search, n: '5' }, TORCH)).toBe('n must be at most beam_width = 4, not 5.');
    expect(argumentsOf({ ...search, early_stopping: 'true' }, TORCH)).toMatchObject({ early_stopping: true });
  });

  test('that this engine can’t serve rest, with its reason', () => {
    expect(whyNot('logprobs', typed(), NULL)).toMatch('no logits');
    expect(whyNot('logprobs', typed(), TORCH)).toBeNull();
    expect(whyNot('lora_name', typed(), NULL)).toBeNull();
    expect(whyNot('lora_name', typed(), TORCH)).toMatch('torch runner');
    expect(whyNot('priority', typed(), NULL)).toMatch('first come');
    expect(whyNot('priority', typed(), TORCH)).toBeNull();
    const uncached = { ...TORCH, config: { ...TORCH.config, enable_prefix_caching: false } };
    expect(whyNot('cache_salt', typed(), uncached)).toMatch('no prefix cache');
  });

  test.each<[string, Field | null]>([
    ['min_tokens must be from 0 to max_tokens = 5, not 9', 'min_tokens'],
    ['stop_token_ids holds 99: this model knows tokens below 64', 'stop_token_ids'],
    ['a stop string has from 1 to 1000 characters, not 0', 'stop'],
    ['a token of stop_token_ids must be from 0 to 4294967295, not -1', 'stop_token_ids'],
    ['logit_bias of token 3 must be from -100 to 100, not 101', 'logit_bias'],
    ['n must be from 1 to 64, not 65', 'n'],
    ['the null runner has no logits: leave logprobs out', 'logprobs'],
    ['session x is recorded: no engine is linked to it', null],
    ['the model says no', null],
  ])('the engine’s words “%s” belong to %s', (said, field) => {
    expect(fieldNamed(said)).toBe(field);
  });

  test('that were changed are told as they were typed', () => {
    expect(changed(typed(), TORCH)).toEqual([]);
    expect(changed(typed({ top_k: '40', stop: 'a\nb', lora_name: 'x' }), TORCH)).toEqual([
      { field: 'top_k', said: '40' },
      { field: 'stop', said: 'a b' },
    ]);
  });
});
