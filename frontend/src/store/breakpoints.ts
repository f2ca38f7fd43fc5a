/** Where the engine stops: what is set, as the engine tells it, what is typed, and what a stop selects. */

import { computed, effect, signal } from '@preact/signals';
import { type Completion, complete, type Offer, type Offered } from '../filter/complete';
import type { Field } from '../filter/filter';
import type { Breakpoint, Hit } from '../ledger/generated/types';
import { text } from '../text';
import type { EventRow } from '../worker/answers/events';
import { jump } from './clock';
import { ask, canControl } from './engine';
import { filterOfSame, goToEvent, selectedEvent } from './eventSteps';
import { renderNow } from './layout';
import { findEvent, health, hitOf, link, position } from './ledger';
import { answerOf, isObject, isText, orNull, reasonOf, whyNone } from './reason';
import { say } from './remark';
import { selection, selectRequest } from './selection';
import { apiUrl, current } from './sessions';

export const breakpointsShown = signal(false);
export const breakpoints = computed<readonly Breakpoint[]>(() =>
  link.value === 'open' ? (health.value?.breakpoints ?? []) : [],
);
/** What holds the engine; null: no breakpoint does. */
export const stop = computed<Hit | null>(() => (link.value === 'open' ? (health.value?.stop ?? null) : null));

export function whenOf(hit: Hit): string {
  return breakpoints.peek().find(({ id }) => id === hit.breakpoint)?.when ?? '';
}

// -- what is typed --------------------------------------------------------------------------------------------------------

interface Fault {
  /** null: it could not be checked. */
  readonly at: number | null;
  readonly end: number;
  readonly message: string;
}

export const typedPredicate = signal('');
/** What was found of a predicate. */
const checked = signal<{ readonly when: string; readonly fault: Fault | null } | null>(null);
/** What the server says of what stands there: its reader is the engine's own. */
export const predicateFault = computed(() =>
  checked.value?.when === typedPredicate.value ? checked.value.fault : null,
);

const isNumber = (value: unknown): boolean => typeof value === 'number';
const isFault = (value: unknown): boolean => {
  if (!isObject(value)) return false;
  const { at, end, message } = value as Record<string, unknown>;
  return isNumber(at) && isNumber(end) && isText(message);
};

/** Of a predicate that could not be checked: nothing is wrong at a character, so all of it is meant. */
const unchecked = (when: string, why: string): Fault => ({
  at: null,
  end: when.length,
  message: text.control.unchecked(why),
});

/** Ask whether it can be read; what can't be asked is told in its place. */
async function check(when: string): Promise<Fault | null> {
  let fault: Fault | null = null;
  if (when.trim() !== '') {
    try {
      const response = await fetch(apiUrl(`predicate?when=${encodeURIComponent(when)}`));
      if (response.ok) {
        fault = (await answerOf<{ fault: Fault | null }>(response, { fault: orNull(isFault) })).fault;
      } else fault = unchecked(when, await reasonOf(response));
    } catch (error) {
      fault = unchecked(when, whyNone(error, text.scenarios.noAnswer));
    }
  }
  checked.value = { when, fault };
  return fault;
}

export function typePredicate(when: string): void {
  typedPredicate.value = when;
  void check(when);
}

/** What events like one have in common with it: the kind, and the block or else the request; null: a gap, no engine knows one. */
export function predicateOf(row: EventRow): string | null {
  const kind = filterOfSame(row, 'kind');
  if (kind === null) return null;
  const of = filterOfSame(row, 'block') ?? filterOfSame(row, 'request');
  return of === null ? kind : `${kind} ${of}`;
}

/** Why the engine can't be stopped at events like one; null: it can. */
export function whyNoBreak(row: EventRow | null): string | null {
  if (row === null) return text.palette.why.noEvent;
  if (!canControl.value) return text.palette.why.noControl;
  return predicateOf(row) === null ? text.control.noKind : null;
}

/** Of what is selected: the event, else the block or the request. */
function suggested(): string {
  const row = selectedEvent.peek();
  if (row !== null) return predicateOf(row) ?? '';
  const { block, request } = selection.peek();
  return block !== null ? `block:${block}` : request !== null ? `owner:r${request}` : '';
}

/** Open the list, with a predicate for `when`, or for what is selected where nothing else is typed. */
export function showBreakpoints(when?: string): void {
  renderNow(() => {
    if (when !== undefined || typedPredicate.peek() === '') typePredicate(when ?? suggested());
    breakpointsShown.value = true;
  });
}

const CONDITIONS = Object.keys(text.control.conditions);
const ELSEWHERE: ReadonlySet<Field> = new Set(['record', 'time']);

/** What may stand where the caret is: what may in a filter, but what an engine does not know, and its own conditions. */
export function completePredicate(typed: string, caret: number, offered: Offered): Completion {
  const found = complete(typed, caret, { ...offered, recent: [] });
  if (found.field !== null) return found;
  const word = typed.slice(found.from, caret).toLowerCase();
  const own = CONDITIONS.filter((each) => each.startsWith(word)).map(
    (insert): Offer => ({ insert, kind: 'field', field: null, count: null }),
  );
  const fields = found.offers.filter(({ field }) => field === null || !ELSEWHERE.has(field));
  return { ...found, offers: [...fields, ...own] };
}

// -- what is asked of the engine ------------------------------------------------------------------------------------------

async function asked(name: string, args: Record<string, unknown>): Promise<boolean> {
  if (!canControl.peek()) return false;
  const answer = await ask(name, args);
  if ('error' in answer) say(answer.error, true);
  return 'result' in answer;
}

export async function setBreakpoint(hits: number, mark: boolean): Promise<void> {
  const typed = typedPredicate.peek();
  const when = typed.trim();
  if (when === '') return;
  const fault = await check(typed);
  // What could not be checked here is for the engine to say.
  if (fault !== null && fault.at !== null) return;
  if (await asked('break', { when, hits, mark })) typePredicate('');
}

export const removeBreakpoint = (breakpoint: number): Promise<boolean> => asked('unbreak', { breakpoint });
export const enableBreakpoint = (breakpoint: number, enabled: boolean): Promise<boolean> =>
  asked(enabled ? 'enable' : 'disable', { breakpoint });
export const runTo = (step: number): Promise<boolean> => asked('run_to', { step });
export const slowDown = (rate: number | null): Promise<boolean> => asked('slow', { rate });

// -- what a stop selects --------------------------------------------------------------------------------------------------

/** Counts the hits that are gone to: only the last is selected. */
let goneTo = 0;

/** Go to where a breakpoint was met, and select the event that met it; of a request that waits, or of the state, the step alone. */
export async function goToHit(hit: Hit): Promise<void> {
  const mine = ++goneTo;
  const { index, request, step } = hit;
  if (index == null) {
    if (request != null) selectRequest(request);
    jump(step);
    return;
  }
  const filter = `step:${step}`;
  const first = await findEvent(filter, 'later', { record: 0, index: 0 });
  if (mine !== goneTo) return;
  if ('fault' in first || first.row === null) return jump(step);
  const found = await findEvent(filter, 'later', { record: first.row.record, index });
  if (mine !== goneTo) return;
  if ('fault' in found || found.row === null) jump(step);
  else goToEvent(found.row);
}

/** Go to a note: where it tells of a breakpoint, to what met it. */
export async function goToNote({
  step,
  record,
}: {
  readonly step: number;
  readonly record: number;
}): Promise<void> {
  const mine = ++goneTo;
  const hit = await hitOf(record);
  if (mine !== goneTo) return;
  if (hit === null) jump(step);
  else await goToHit(hit);
}

let seen = '';
effect(() => {
  const hit = stop.value;
  const session = current.value?.id ?? '';
  const now = hit === null ? '' : `${session} ${hit.breakpoint} ${hit.step} ${hit.count}`;
  // What the engine says of itself may come before the record of the step in which it stopped.
  if (now === seen || (hit !== null && position.value.lastStep < hit.step)) return;
  seen = now;
  // Who looks at something else is not taken away from it, nor who follows from there: that is where it was met.
  if (hit === null || position.peek().mode !== 'follow') return;
  if (hit.index != null) void goToHit(hit);
  else if (hit.request != null) selectRequest(hit.request);
});
