/**
 * The address holds the state: `?session=&step=&op=&block=&seq=&request=&text=&rate=`, and what panels keep in it
 * (`address.ts`); the browser's Back goes back in it.
 */

import { computed, effect } from '@preact/signals';
import { isLanguage, type Language, speak } from '../language';
import { text } from '../text';
import type { Destination } from '../worker/place';
import type { Wish } from '../worker/source';
import { partsDiffer, takeParts, writeParts } from './address';
import { follow, jumps } from './clock';
import { isEmbedded } from './embedded';
import { isLive, position, tell } from './ledger';
import { say } from './remark';
import { NOTHING, selection } from './selection';
import {
  awaitFirst,
  closeSession,
  current,
  listing,
  loadSessions,
  openSession,
  type SessionInfo,
  unknownSession,
} from './sessions';
import { readWish, writeWish, wrongWish } from './wish';

interface Place {
  readonly session: string | null;
  readonly step: number | null;
  /** The operation behind which the view stands, where that is within the step: -1 before the first of all. */
  readonly op: number | null;
  readonly block: number | null;
  readonly sequence: number | null;
  readonly request: number | null;
  /** What is asked for while the session is live. */
  readonly wish: Wish;
}

function natural(text: string | null): number | null {
  if (text === null || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

export function readPlace(search: string): Place {
  const query = new URLSearchParams(search);
  return {
    session: query.get('session'),
    step: natural(query.get('step')),
    op: query.get('op') === '-1' ? -1 : natural(query.get('op')),
    block: natural(query.get('block')),
    sequence: natural(query.get('seq')),
    request: natural(query.get('request')),
    wish: readWish(search),
  };
}

export function writePlace(place: Place): string {
  const query = queryOf(place);
  return query.size === 0 ? '' : `?${query}`;
}

function queryOf(place: Place): URLSearchParams {
  const query = new URLSearchParams();
  if (place.session !== null) query.set('session', place.session);
  if (place.step !== null) query.set('step', String(place.step));
  if (place.op !== null) query.set('op', String(place.op));
  if (place.block !== null) query.set('block', String(place.block));
  if (place.sequence !== null) query.set('seq', String(place.sequence));
  if (place.request !== null) query.set('request', String(place.request));
  writeWish(place.wish, query);
  return query;
}

/** Where an address leads in its session; null: it does not say. */
export function destinationOf({ step, op }: Place): Destination | null {
  if (op === null) return step === null ? null : { kind: 'step', step };
  return { kind: 'operation', operation: op, ...(step === null ? {} : { step }) };
}

/** A step in the address that is none: it is said, and the address is taken without it. */
export function wrongStep(search: string): string | null {
  const said = new URLSearchParams(search).get('step');
  return said === null || said === '' || natural(said) !== null ? null : said;
}

/** What names something and is no number, as it stands there; a language that the page does not speak. */
export function wrongNames(search: string): string[] {
  const query = new URLSearchParams(search);
  const isWrong = (name: string): boolean => {
    const said = query.get(name);
    if (said === null || said === '') return false;
    if (name === 'lang') return !isLanguage(said);
    return natural(said) === null && !(name === 'op' && said === '-1');
  };
  return ['op', 'block', 'seq', 'request', 'lang']
    .filter(isWrong)
    .map((name) => `${name}=${query.get(name)}`);
}

/** While the state is taken from the address, it is not written to it. */
let restoring = false;
let lastJump = 0;
let timer: ReturnType<typeof setTimeout> | null = null;

function present(): Place {
  const { block, sequence, request } = selection.peek();
  const session = current.peek();
  const { mode, step, operation, target, loaded } = position.peek();
  const stands = session !== null && mode === 'at' && step >= 0;
  // A view that has not come to its place yet has that of its address: who loads the page again is not sent elsewhere.
  const asked = readPlace(location.search);
  const arrives = session !== null && !loaded && (isEmbedded || asked.session === session.id);
  return {
    // The page that holds its session need not name it.
    session: isEmbedded ? null : (session?.id ?? null),
    step: stands ? (target ?? step) : arrives ? asked.step : null,
    op: stands ? operation : arrives ? asked.op : null,
    block,
    sequence,
    request,
    wish: readWish(location.search),
  };
}

/** The address of what is shown now, behind the page's own. */
function addressNow(place: Place): string {
  const query = queryOf(place);
  if (current.peek() !== null) writeParts(query);
  return query.size === 0 ? '' : `?${query}`;
}

/** Selections, jumps and panels are entries of the browser's history; stepping and dragging change the present one. */
function write(): void {
  timer = null;
  const place = present();
  const address = addressNow(place);
  if (address === location.search) return;
  const before = readPlace(location.search);
  const moved =
    before.session !== place.session ||
    before.block !== place.block ||
    before.sequence !== place.sequence ||
    before.request !== place.request ||
    partsDiffer(new URLSearchParams(location.search), new URLSearchParams(address)) ||
    jumps.peek() !== lastJump;
  if (!moved && position.peek().target !== null) {
    // On the way: each address is a message to the browser, and a drag has many that nobody sees.
    timer = setTimeout(write, 150);
    return;
  }
  lastJump = jumps.peek();
  const url = location.pathname + address;
  if (moved) history.pushState(null, '', url);
  else history.replaceState(null, '', url);
}

/** The address is that of what is shown, from now on and not only soon. */
export function writeAddress(): void {
  if (timer !== null) clearTimeout(timer);
  if (!restoring) write();
}

/** The page is loaded again in another language, at the place where the view is now: the address has that a moment later. */
export function speakHere(next: Language): void {
  writeAddress();
  speak(next);
}

/** The sessions, once the server has told them: an address that names one waits for a server that does not answer. */
function listed(): Promise<readonly SessionInfo[]> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      const told = listing.value;
      if (told.state !== 'ready') return;
      queueMicrotask(() => stop());
      resolve(told.sessions);
    });
  });
}

async function restore(first: boolean): Promise<void> {
  restoring = true;
  try {
    const place = readPlace(location.search);
    const to = destinationOf(place);
    const wrong = wrongStep(location.search);
    const notAsked = wrongWish(location.search);
    const remarks = [
      ...(wrong === null ? [] : [text.stage.wrongStep(wrong)]),
      ...(notAsked === null ? [] : [text.stage.wrongWish(notAsked)]),
    ];
    if (remarks.length > 0) say(remarks.join(' '), true);
    const open = current.peek();
    if (open === null || (!isEmbedded && open.id !== place.session)) {
      await loadSessions();
      const sessions = await listed();
      if (current.peek() !== open) return;
      const live =
        first && place.session === null ? sessions.find((each) => each.state === 'live') : undefined;
      const own = isEmbedded ? sessions[0] : undefined;
      const wanted: SessionInfo | undefined =
        own ?? sessions.find((each) => each.id === place.session) ?? live;
      if (wanted === undefined) {
        unknownSession.value = place.session;
        if (first && place.session === null && !isEmbedded) awaitFirst();
        if (open !== null) closeSession();
        return;
      }
      openSession(wanted, to);
    } else if (to !== null) tell({ kind: 'go', to });
    else if (position.peek().mode === 'at') {
      if (isLive.peek()) follow();
      else tell({ kind: 'go', to: { kind: 'step', step: 0 } });
    }
    const pool = current.peek()?.num_blocks ?? 0;
    const isInPool = place.block === null || pool === 0 || place.block < pool;
    const block = isInPool ? place.block : null;
    selection.value = { ...NOTHING, block, sequence: place.sequence, request: place.request };
    const parts = takeParts(new URLSearchParams(location.search));
    const outside = isInPool ? [] : [`block=${place.block}`];
    const unused = [...wrongNames(location.search), ...outside, ...parts];
    // All of it is said at once: a remark takes the place of the one before.
    if (unused.length > 0) remarks.push(text.stage.wrongPart(unused.join(', ')));
    if (remarks.length > 0) say(remarks.join(' '), true);
  } finally {
    restoring = false;
    lastJump = jumps.peek();
  }
}

/** What the address tells of the position: nothing of a view that goes on by itself. */
const stands = computed(() => {
  const { mode, step, operation, target } = position.value;
  return mode === 'at' ? [step, operation, target].join() : mode;
});

export function startLocation(): void {
  void restore(true).then(() => {
    effect(() => {
      void [current.value, selection.value, stands.value, jumps.value];
      writeParts(new URLSearchParams());
      if (!restoring && timer === null) timer = setTimeout(write, 150);
    });
  });
  window.addEventListener('popstate', () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    void restore(false);
  });
}
