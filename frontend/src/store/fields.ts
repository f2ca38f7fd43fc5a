/**
 * The fields of a request, named as the engine's arguments: how each is typed, what it may be, and when it does not apply.
 *
 *     stop             "###\n"  "END"          a text a line; \n, \t and \\ stand for what cannot be typed in one
 *     stop_token_ids   13, 2                   ids with commas or spaces between
 *     logit_bias       42: -5, 7: 100          id: number
 *
 * A field that is empty is not sent: the engine's own default holds, and stands in the field as a pale hint.
 */

import { text } from '../text';

const words = text.playground;

export const FIELDS = [
  'n',
  'max_tokens',
  'temperature',
  'top_k',
  'top_p',
  'min_p',
  'seed',
  'repetition_penalty',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'stop',
  'stop_token_ids',
  'min_tokens',
  'ignore_eos',
  'logprobs',
  'beam_width',
  'length_penalty',
  'early_stopping',
  'priority',
  'cache_salt',
  'lora_name',
] as const;
export type Field = (typeof FIELDS)[number];

/** What was typed into each; '' is the engine's default. `ignore_eos` is 'true' where it is ticked. */
export type Typed = Readonly<Record<Field, string>>;

/** What the page sends unless it is told otherwise: the engine's own defaults are meant for programs. */
export const DEFAULTS: Typed = {
  ...(Object.fromEntries(FIELDS.map((field) => [field, ''])) as Record<Field, string>),
  n: '1',
  max_tokens: '64',
  temperature: '0.8',
};

/** What the engine takes for an empty field. */
export const HINTS: Readonly<Partial<Record<Field, string>>> = {
  n: '1',
  max_tokens: '16',
  temperature: '1',
  top_k: '0',
  top_p: '1',
  min_p: '0',
  repetition_penalty: '1',
  presence_penalty: '0',
  frequency_penalty: '0',
  min_tokens: '0',
  length_penalty: '1',
  priority: '0',
};

/** What the engine behind the page is, as its handshake says: what it can't do is not offered. */
export interface Engine {
  readonly runner: string;
  readonly config: Readonly<Record<string, unknown>>;
}

type Value = string | number | boolean | readonly string[] | readonly number[] | Record<string, number>;
type Read = { readonly value: Value } | { readonly rule: string };

const { rules } = words;

function whole(low: number, high: number): (typed: string) => Read {
  const rule = high >= 2 ** 31 - 1 ? rules.wholeFrom(low) : rules.whole(low, high);
  return (typed) => {
    const value = Number(typed);
    return Number.isInteger(value) && value >= low && value <= high ? { value } : { rule };
  };
}

function real(rule: string, fits: (value: number) => boolean): (typed: string) => Read {
  return (typed) => {
    const value = Number(typed.replace(',', '.'));
    return Number.isFinite(value) && fits(value) ? { value } : { rule };
  };
}

const between = (low: number, high: number): ((typed: string) => Read) =>
  real(rules.between(low, high), (value) => value >= low && value <= high);

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\' };

function texts(typed: string): Read {
  const value = typed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replaceAll(/\\([ntr\\])/g, (_, sign: string) => ESCAPES[sign]!));
  return value.length <= 64 && value.every((each) => each.length <= 1000)
    ? { value }
    : { rule: rules.stops(64, 1000) };
}

function ids(typed: string): Read {
  const parts = typed.split(/[\s,;]+/).filter((part) => part !== '');
  const value = parts.map(Number);
  return parts.every((part) => /^\d{1,10}$/.test(part)) && value.every((id) => id < 2 ** 32)
    ? { value }
    : { rule: rules.ids };
}

function pairs(typed: string): Read {
  const value: Record<string, number> = {};
  for (const part of typed.split(/[\n,;]+/)) {
    if (part.trim() === '') continue;
    const found = /^\s*(\d{1,10})\s*[:=]\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*$/.exec(part);
    const bias = Number(found?.[2]);
    if (found === null || !(Math.abs(bias) <= 100)) return { rule: rules.pairs };
    value[String(Number(found[1]))] = bias;
  }
  return { value };
}

/** An engine with `max_num_seqs` sequences at once takes no more samples than that. */
function seats(engine: Engine): number {
  const most = engine.config.max_num_seqs;
  return Math.min(64, typeof most === 'number' ? most : 64);
}

function reader(field: Field, engine: Engine): (typed: string) => Read {
  switch (field) {
    case 'n':
      return whole(1, seats(engine));
    case 'beam_width':
      return whole(2, seats(engine));
    case 'max_tokens':
      return whole(1, 2 ** 31 - 1);
    case 'min_tokens':
    case 'top_k':
    case 'seed':
      return whole(0, 2 ** 31 - 1);
    case 'logprobs':
      return whole(0, 20);
    case 'priority':
      return whole(-1_000_000, 1_000_000);
    case 'temperature':
      return real(rules.temperature, (value) => value >= 0);
    case 'top_p':
      return real(rules.topP, (value) => value > 0 && value <= 1);
    case 'min_p':
      return between(0, 1);
    case 'repetition_penalty':
      return between(0.001, 1000);
    case 'presence_penalty':
    case 'frequency_penalty':
      return between(-2, 2);
    case 'length_penalty':
      return between(-4, 4);
    case 'stop':
      return texts;
    case 'stop_token_ids':
      return ids;
    case 'logit_bias':
      return pairs;
    case 'early_stopping':
      return (typed) => ({ value: typed === 'never' ? typed : typed === 'true' });
    case 'ignore_eos':
      return () => ({ value: true });
    case 'cache_salt':
    case 'lora_name':
      return (typed) => ({ value: typed });
  }
}

/** In these, white space is a part of what is typed. */
const VERBATIM = new Set<Field>(['stop', 'cache_salt', 'lora_name']);

/** Empty: the engine's default holds. */
function isEmpty(field: Field, typed: string): boolean {
  return (VERBATIM.has(field) ? typed : typed.trim()) === '';
}

/** A beam search draws nothing … */
const DRAWING: ReadonlySet<Field> = new Set<Field>(['temperature', 'top_k', 'top_p', 'min_p', 'seed']);
/** … and does not look at the text or the counts of what its beams have. */
const NOT_TAKEN: ReadonlySet<Field> = new Set<Field>([
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
]);
const ONLY_IN_A_BEAM_SEARCH: ReadonlySet<Field> = new Set<Field>(['length_penalty', 'early_stopping']);

/** Why a field does not apply now: it is grey then, and is not sent; null: it applies. */
export function whyNot(field: Field, typed: Typed, engine: Engine): string | null {
  const { reasons } = words;
  const isBeamSearch = !isEmpty('beam_width', typed.beam_width);
  if (isBeamSearch && DRAWING.has(field)) return reasons.drawsNothing;
  if (isBeamSearch && NOT_TAKEN.has(field)) return reasons.notTaken;
  if (!isBeamSearch && ONLY_IN_A_BEAM_SEARCH.has(field)) return reasons.noBeams;
  if (field === 'logprobs' && engine.runner === 'null') return reasons.noLogits;
  if (field === 'lora_name' && engine.runner !== 'null') return reasons.noAdapters(engine.runner);
  if (field === 'priority' && engine.config.scheduling_policy === 'fcfs') return reasons.fcfs;
  if (field === 'cache_salt' && engine.config.enable_prefix_caching === false) return reasons.noCache;
  return null;
}

/** What is wrong with one field; null: nothing. */
export function faultOf(field: Field, typed: Typed, engine: Engine): string | null {
  const said = typed[field];
  if (isEmpty(field, said) || whyNot(field, typed, engine) !== null) return null;
  const read = reader(field, engine)(said.trim());
  if ('rule' in read) {
    const told = said.trim();
    return words.mustBe(field, read.rule, Number.isFinite(Number(told)) ? told : `“${told}”`);
  }
  const limit = field === 'min_tokens' ? 'max_tokens' : field === 'n' ? 'beam_width' : null;
  if (limit === null || isEmpty(limit, typed[limit]) || whyNot(limit, typed, engine) !== null) return null;
  const most = Number(typed[limit]);
  return Number(said) > most ? words.mustBe(field, rules.atMost(limit, most), said.trim()) : null;
}

/** The arguments that what was typed gives. Every field must be without a fault. */
export function argumentsOf(typed: Typed, engine: Engine): Record<string, Value> {
  const args: Record<string, Value> = {};
  for (const field of FIELDS) {
    const said = typed[field];
    if (isEmpty(field, said) || whyNot(field, typed, engine) !== null) continue;
    const read = reader(field, engine)(VERBATIM.has(field) ? said : said.trim());
    if ('value' in read) args[field] = read.value;
  }
  return args;
}

/** Which field a complaint of the engine is about: the first one that it names; null: none of them. */
export function fieldNamed(complaint: string): Field | null {
  let first: { at: number; field: Field } | null = null;
  for (const field of FIELDS) {
    const at = complaint.search(new RegExp(`(?<![\\w])${field}(?![\\w])`));
    if (at >= 0 && (first === null || at < first.at)) first = { at, field };
  }
  return first?.field ?? null;
}

/** Those that differ from the page's defaults, as name and what was typed. */
export function changed(typed: Typed, engine: Engine): readonly { field: Field; said: string }[] {
  return FIELDS.filter(
    (field) => typed[field] !== DEFAULTS[field] && whyNot(field, typed, engine) === null,
  ).map((field) => ({ field, said: typed[field].replaceAll('\n', ' ') }));
}
