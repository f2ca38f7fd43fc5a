/** A filter as a question that is put to one event after the other. Its twin is `kvarium.filtering.matching`. */

import { CAUSE_CODES, OPERATION_CODES } from '../ledger/codes';
import { NONE } from '../ledger/generated/constants';
import type { Decision } from '../ledger/requests';
import {
  ANY,
  CAUSES,
  type Filter,
  type Numbers,
  OPERATIONS,
  type Owner,
  type Term,
  type Times,
} from './filter';
import { begins, DAY, type Origin } from './moment';

/** An event as it is looked at: one object for all of them, filled anew for each. */
export interface Candidate {
  record: number;
  step: number;
  /** ns since the session's start. */
  time: number;
  /** The code of an operation; 0 for a decision. */
  kind: number;
  decision: Decision | null;
  cause: number;
  block: number;
  source: number;
  /** -1: not known. */
  generation: number;
  sourceGeneration: number;
  sequence: number;
  content: number;
}

/** What is known of sequences and requests. */
export interface Known {
  sequence(sequence: number): { readonly request: number; readonly index: number } | undefined;
  /** The name that its user gave a request. */
  name(request: number): string | undefined;
  /** The hash of a content, in hexadecimal digits; undefined: it is not known here. */
  hash(content: number): string | undefined;
}

type Test = (event: Candidate) => boolean;

export function matcher(filter: Filter, known: Known, origin: Origin): Test {
  const tests = filter.map((term) => {
    const values = testsOf(term, known, origin);
    return (event: Candidate): boolean => values.some((test) => test(event)) !== term.not;
  });
  return (event) => tests.every((test) => test(event));
}

/** Is a gap told? What is looked for may have been in it, unless it lies elsewhere. */
export function tellsGap(filter: Filter, record: number, time: number, origin: Origin): boolean {
  return filter.every((term) => {
    if (term.field === 'record') return term.values.some((value) => lies(record, value)) !== term.not;
    if (term.field === 'time')
      return term.values.some((value) => lies(time, span(value, origin))) !== term.not;
    return true;
  });
}

function lies(value: number, { from, to }: Pick<Numbers, 'from' | 'to'>): boolean {
  return (from === null || value >= from) && (to === null || value <= to);
}

/** A time in ns since the session's start, both ends included. */
export function span({ from, to }: Times, origin: Origin): { from: number | null; to: number | null } {
  const first = from === null ? null : begins(from, origin);
  let last = to === null ? null : begins(to, origin) + to.unit - 1;
  // From before midnight to after it.
  if (first !== null && last !== null && last < first && 'day' in to!) last += DAY;
  return { from: first, to: last };
}

function testsOf(term: Term, known: Known, origin: Origin): Test[] {
  switch (term.field) {
    case 'op':
      return term.values.map((name) => {
        if (name === ANY) return ({ kind }) => kind !== 0;
        const code = OPERATION_CODES[name]!;
        return ({ kind }) => kind === code;
      });
    case 'decision':
      return term.values.map(
        (name) =>
          ({ decision }) =>
            decision !== null && (name === ANY || decision.kind === name),
      );
    case 'cause':
      return term.values.map((name) => {
        const code = CAUSE_CODES[name]!;
        return ({ kind, cause }) => kind !== 0 && cause === code;
      });
    case 'block':
      return term.values.map((value) => blockTest(value));
    case 'owner':
      return term.values.map((value) => ownerTest(value, known));
    case 'seq':
      return term.values.map(
        (value) =>
          ({ sequence }) =>
            sequence !== NONE && lies(sequence, value),
      );
    case 'content':
      return term.values.map(
        (value) =>
          ({ content }) =>
            content !== NONE && lies(content, value),
      );
    case 'hash':
      return term.values.map(
        (beginning) =>
          ({ content }) =>
            content !== NONE && (known.hash(content)?.startsWith(beginning) ?? false),
      );
    case 'time':
      return term.values.map((value) => {
        const when = span(value, origin);
        return ({ time }) => lies(time, when);
      });
    case 'word':
      return term.values.map((word) => wordTest(word.toLowerCase(), known));
    default: {
      const { field } = term;
      return term.values.map((value) => (event) => lies(event[field as 'step' | 'record'], value));
    }
  }
}

function blockTest(value: Numbers): Test {
  const { generation } = value;
  if (generation === undefined) {
    return ({ block, source }) =>
      (block !== NONE && lies(block, value)) || (source !== NONE && lies(source, value));
  }
  return (event) =>
    (event.block === value.from && event.generation === generation) ||
    (event.source === value.from && event.sourceGeneration === generation);
}

/** The requests that an event is of: whom it served; of a preemption also who needed the blocks. */
function requestsOf({ decision, sequence }: Candidate, known: Known): readonly number[] {
  if (decision !== null) {
    return decision.kind === 'preempted' ? [decision.request, decision.victim_of] : [decision.request];
  }
  const found = sequence === NONE ? undefined : known.sequence(sequence);
  return found === undefined ? [] : [found.request];
}

function ownerTest(owner: Owner, known: Known): Test {
  if ('none' in owner) return (event) => event.decision === null && requestsOf(event, known).length === 0;
  if ('name' in owner) {
    return (event) => requestsOf(event, known).some((request) => known.name(request) === owner.name);
  }
  const { request, index } = owner;
  if (index === undefined) return (event) => requestsOf(event, known).includes(request);
  return ({ sequence }) => {
    const found = sequence === NONE ? undefined : known.sequence(sequence);
    return found !== undefined && found.request === request && found.index === index;
  };
}

function wordTest(word: string, known: Known): Test {
  const kinds = OPERATIONS.filter((name) => name.includes(word)).map((name) => OPERATION_CODES[name]!);
  const causes = CAUSES.filter((name) => name.includes(word) || name.replaceAll('_', ' ').includes(word));
  const codes = causes.map((name) => CAUSE_CODES[name]!);
  const isOf = (request: number): boolean =>
    `r${request}`.includes(word) || (known.name(request)?.toLowerCase().includes(word) ?? false);
  return (event) => {
    const { decision } = event;
    if (decision === null) {
      return kinds.includes(event.kind) || codes.includes(event.cause) || requestsOf(event, known).some(isOf);
    }
    const told = new Map<string, unknown>(Object.entries(decision));
    const said = ['kind', 'name', 'reason', 'message', 'asked_by', 'stop_reason'].map((name) =>
      told.get(name),
    );
    return (
      isOf(decision.request) || said.some((each) => each != null && String(each).toLowerCase().includes(word))
    );
  };
}
