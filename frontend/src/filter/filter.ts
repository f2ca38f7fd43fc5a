/**
 * What a filter of events says, once it is read. Its twin is `kvarium.filtering`: both read the same language, to the same terms.
 *
 *     op:evict,free -cause:reset block:42#3 owner:r17 step:100..200 time:12.5s..14s "prefix hit"
 *     └─ field      └─ excludes  └─ one life of a block                └─ a range   └─ a free word
 *
 * All terms must hold; of a term's values one.
 */

import { Cause, Operation } from '../ledger/generated/constants';
import type { Decision } from '../ledger/requests';

export const OPERATIONS = Object.keys(Operation) as (keyof typeof Operation)[];
export const CAUSES = Object.keys(Cause) as (keyof typeof Cause)[];
/** In the order of a request's life. */
export const DECISIONS = [
  'submitted',
  'admitted',
  'sequence_created',
  'scheduled',
  'waiting',
  'preempted',
  'sequence_dropped',
  'hypothesis',
  'finished',
  'aborted',
  'refused',
] as const satisfies readonly Decision['kind'][];
/** Any operation, or any decision. */
export const ANY = 'any';

export const FIELDS = [
  'op',
  'decision',
  'cause',
  'block',
  'owner',
  'seq',
  'content',
  'hash',
  'step',
  'record',
  'time',
] as const;
export type Field = (typeof FIELDS)[number];

/** The fields whose values are names out of a list. */
export const NAMES: Readonly<Partial<Record<Field, readonly string[]>>> = {
  op: [...OPERATIONS, ANY],
  decision: [...DECISIONS, ANY],
  cause: CAUSES,
};

/** Numbers from one to another, both included; null: no end. `generation`: one life of a block, and no range then. */
export interface Numbers {
  readonly from: number | null;
  readonly to: number | null;
  readonly generation?: number;
}

/** A request by its number, perhaps one of its sequences; by the name that its user gave it; or no request at all. */
export type Owner =
  | { readonly request: number; readonly index?: number }
  | { readonly name: string }
  | { readonly none: true };

/** A time as exact as it was written: `unit` ns long. Of the session, or (with `day`) of the wall clock: ns since midnight. */
export type Moment =
  | { readonly ns: number; readonly unit: number }
  | { readonly day: string | null; readonly ns: number; readonly unit: number };

export interface Times {
  readonly from: Moment | null;
  readonly to: Moment | null;
}

interface Excluding {
  /** What it says must not hold. */
  readonly not: boolean;
}

export type NameTerm = Excluding & {
  readonly field: 'op' | 'decision' | 'cause';
  readonly values: readonly string[];
};
export type NumberTerm = Excluding & {
  readonly field: 'block' | 'seq' | 'content' | 'step' | 'record';
  readonly values: readonly Numbers[];
};
export type OwnerTerm = Excluding & { readonly field: 'owner'; readonly values: readonly Owner[] };
export type TimeTerm = Excluding & { readonly field: 'time'; readonly values: readonly Times[] };
/** Beginnings of hashes, in hexadecimal digits. */
export type HashTerm = Excluding & { readonly field: 'hash'; readonly values: readonly string[] };
export type WordTerm = Excluding & { readonly field: 'word'; readonly values: readonly string[] };
export type Term = NameTerm | NumberTerm | OwnerTerm | HashTerm | TimeTerm | WordTerm;

export type Filter = readonly Term[];

/** What can't be read, at the characters from `at` to `end`. `nearest` is what may have been meant. */
export interface Fault {
  readonly at: number;
  readonly end: number;
  readonly why: Why;
  readonly said: string;
  readonly field?: Field;
  readonly nearest?: string;
}
/**
 * There is no such field; no such name in its list; it is no number, time or hash's beginning; the range ends before it begins; a range has
 * no generation; nothing stands there; a quote stands within a value; a quote is not closed.
 */
export type Why =
  | 'field'
  | 'name'
  | 'number'
  | 'time'
  | 'hex'
  | 'order'
  | 'generation'
  | 'empty'
  | 'quote'
  | 'open';
