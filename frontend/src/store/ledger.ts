/** The page's end of the ledger worker: what it last said, as signals, and what can be asked of it. */

import { batch, computed, effect, signal } from '@preact/signals';
import type { Usage } from '../ledger/fold';
import type { Health, Hello, Hit, Status } from '../ledger/generated/types';
import type { BlockAnswer } from '../worker/answers/inspect';
import type { QueueAnswer } from '../worker/answers/queue';
import type { RequestAnswer } from '../worker/answers/request';
import type { RunsAnswer } from '../worker/answers/runs';
import type { TokenAnswer } from '../worker/answers/said';
import type { SchedulerAnswer } from '../worker/answers/scheduler';
import type { TablesAnswer, TablesWish } from '../worker/answers/tables';
import type { TreeAnswer } from '../worker/answers/tree';
import type { EventPlace } from '../worker/eventPage';
import type { Landmark } from '../worker/landmarks';
import type { LanesAnswer } from '../worker/lanes';
import type { ListingAnswer, ListingWish } from '../worker/listing';
import type { Order } from '../worker/order';
import type { Destination } from '../worker/place';
import type {
  Compared,
  Found,
  FromWorker,
  Light,
  LinkState,
  Notice,
  Position,
  Question,
  ToWorker,
  View,
  Wants,
} from '../worker/protocol';
import type { Rectangle, RectangleAnswer } from '../worker/rectangle';
import type { Buckets } from '../worker/series';
import type { Colouring, Shading } from '../worker/shades';
import type { Wish } from '../worker/source';
import type { TreeWants } from '../worker/tree/tree';
import { recording } from './embedded';
import { afterFrame, beforeFrame, reducedMotion } from './frame';
import { startLedgerWorker } from './ledger-worker';
import { picture } from './picture';
import { selection } from './selection';
import { type Part, Showing } from './showing';

const NOWHERE: Position = {
  mode: 'at',
  loaded: false,
  record: -1,
  step: -1,
  op: 0,
  time: 0,
  within: null,
  operation: null,
  lastStep: -1,
  lastRecord: -1,
  lastOp: -1,
  lastTime: 0,
  moving: false,
  stalled: false,
  target: null,
};
const UNKNOWN: Light = { colour: 'grey', record: null, message: '', doubt: null };

export const hello = signal<Hello | null>(null);
export const position = signal<Position>(NOWHERE);
export const usage = signal<Usage>({ active: 0, shared: 0, cached: 0, free: 0 });
export const usable = signal(0);
export const light = signal<Light>(UNKNOWN);
export const link = signal<LinkState>('connecting');
export const health = signal<Health | null>(null);
export const status = signal<Status | null>(null);
/** What the session takes in the recording, as far as the server said while it was live. */
export const stored = signal<number | null>(null);
export const lag = signal<number | null>(null);
export const gaps = signal(0);
/** How a session ended while this page watched it. */
export const ending = signal<View['ending']>(null);
export const notice = signal<Notice | null>(null);
export const failure = signal<string | null>(null);
export const tables = signal<TablesAnswer | null>(null);
export const queue = signal<QueueAnswer | null>(null);
/** Its head: the block that goes next, at the step of the map, which frames it. */
export const nextToGo = signal<number | null>(null);
/** In place of {@link queue} where memory is contiguous. */
export const runs = signal<RunsAnswer | null>(null);
export const scheduler = signal<SchedulerAnswer | null>(null);
export const events = signal<ListingAnswer | null>(null);
export const tree = signal<TreeAnswer | null>(null);
export const block = signal<BlockAnswer | null>(null);
export const request = signal<RequestAnswer | null>(null);
/** One for each of the requests in {@link wantRequests}, by its number. */
export const requests = signal<ReadonlyMap<number, RequestAnswer>>(new Map());
export const series = signal<Buckets | null>(null);
export const landmarks = signal<readonly Landmark[] | null>(null);
/** All notes of the session, by their steps. */
export const notes = signal<readonly Landmark[] | null>(null);
export const lanes = signal<LanesAnswer | null>(null);
/** The whole session in small. */
export const overview = signal<Buckets | null>(null);
export const token = signal<TokenAnswer | null>(null);
/** What the legend says of the map's shades; null: the map shows states. */
export const shading = signal<Shading | null>(null);
export const marked = signal<Uint32Array | null>(null);
/** What is in the rectangle that was marked, as far as it was told. */
export const inside = signal<RectangleAnswer | null>(null);

// What changes seldom of a position that changes with every view: whoever shows only that is not made anew with it.
export const mode = computed(() => position.value.mode);
export const stalled = computed(() => position.value.stalled);
export const lastStep = computed(() => position.value.lastStep);
/** Where the view is or, moved by its reader, is on its way to; -1: nowhere yet. */
export const stepShown = computed(() => {
  const { mode, step, target } = position.value;
  return mode === 'follow' ? step : (target ?? step);
});
/** Steps between the view and the live end. */
export const behind = computed(() => Math.max(0, position.value.lastStep - position.value.step));
/** A sequence's blocks are one run, the first that is long enough: the order of the free queue says nothing. */
export const isContiguous = computed(() => hello.value?.config?.memory_backend === 'contiguous');
export const isLive = computed(() => link.value !== 'replay');

/** The engine has done nothing yet: no step, and nothing that could be verified. */
export const awaitsFirstStep = computed(
  () => link.value === 'open' && light.value.colour === 'grey' && lastStep.value < 0,
);

// -- what the panels want -------------------------------------------------------------------------------------------

export const wantColouring = signal<Colouring>('state');
export const wantOrder = signal<Order>('number');
export const wantTables = signal<TablesWish | null>(null);
export const wantQueue = signal(0);
export const wantScheduler = signal(true);
export const wantEvents = signal<ListingWish | null>(null);
export const wantTree = signal<TreeWants | null>(null);
export const wantRectangle = signal<Rectangle | null>(null);
export const wantRequests = signal<readonly number[]>([]);
export const wantSeries = signal<Wants['series']>(null);
export const wantToken = signal<Wants['token']>(null);

// -- the worker -----------------------------------------------------------------------------------------------------

const worker = startLedgerWorker();
const questions = new Map<number, (value: unknown) => void>();
let lastQuestion = 0;
let openSession: string | null = null;

export function tell(message: ToWorker): void {
  worker.postMessage(message);
}

/** Ask the worker something that it answers by its number. */
function answered<T>(message: (id: number) => ToWorker): Promise<T> {
  return new Promise((resolve) => {
    const id = ++lastQuestion;
    questions.set(id, resolve as (value: unknown) => void);
    tell(message(id));
  });
}

/** Answered once the view stands where it was asked to be. `ready` waits for a session too. */
export function ask(question: Question): Promise<unknown> {
  if (openSession === null && question !== 'ready') return Promise.reject(new Error('no session is open'));
  return answered((id) => ({ kind: 'ask', id, question }));
}

/** The nearest event that meets a filter: from a place on, or from the view. */
export function findEvent(
  filter: string,
  direction: 'later' | 'earlier',
  from: EventPlace | null,
): Promise<Found> {
  return answered((id) => ({ kind: 'find', id, filter, direction, from }));
}

/** Where the breakpoint was met that the note at a record tells of; null: it tells of none. */
export function hitOf(record: number): Promise<Hit | null> {
  return answered((id) => ({ kind: 'hit', id, record }));
}

/** What differs between the states of two steps. */
export function compare(from: number, to: number): Promise<Compared> {
  return answered((id) => ({ kind: 'compare', id, from, to }));
}

/** Change a signal only when there is a new value: a panel that was not asked for keeps its last one. */
function take<T>(target: { value: T | null }, value: T | null): void {
  if (value !== null) target.value = value;
}

/** A copy of what is here already: the engine and the server tell of themselves once a second, a view each 50 ms. */
function isAlike(here: Health | Status | null, told: Health | Status | null): boolean {
  return here === told || JSON.stringify(here) === JSON.stringify(told);
}

/** Where the view is, and what is seen of it at a glance. */
function showPicture(view: View): void {
  if (view.map !== null) {
    picture.apply(view.map, view.position.mode === 'at', !reducedMotion());
    shading.value = view.shading;
  }
  position.value = view.position;
  usage.value = view.usage;
  usable.value = view.usable;
  if (view.light.colour !== light.value.colour || view.light.record !== light.value.record)
    light.value = view.light;
  link.value = view.link;
  notice.value = view.notice;
  if (view.queue !== null) nextToGo.value = view.queue.head[0] ?? null;
  marked.value = view.marked;
}

const PICTURE: Part<View> = { has: () => true, show: showPicture };

const TABLES: Part<View> = {
  has: (view) => view.tables !== null,
  show: (view) => take(tables, view.tables),
};

const LISTS: Part<View> = {
  has: () => true,
  show(view) {
    if (!isAlike(health.value, view.health)) health.value = view.health;
    if (!isAlike(status.value, view.status)) status.value = view.status;
    if (view.status?.recording_bytes) stored.value = view.status.recording_bytes;
    gaps.value = view.gaps;
    ending.value = view.ending;
    lag.value = view.lag;
    take(queue, view.queue);
    take(runs, view.runs);
    take(scheduler, view.scheduler);
    take(events, view.events);
    take(tree, view.tree);
    block.value = view.block;
    request.value = view.request;
    if (view.requests !== null && (view.requests.length > 0 || requests.value.size > 0)) {
      requests.value = new Map(
        view.requests.filter((each) => each !== null).map((each) => [each.request, each]),
      );
    }
    token.value = view.token;
    take(inside, view.rectangle);
  },
};

const CURVES: Part<View> = {
  has: ({ series, landmarks, notes, lanes, overview }) =>
    [series, landmarks, notes, lanes, overview].some((each) => each !== null),
  show(view) {
    take(series, view.series);
    take(landmarks, view.landmarks);
    take(notes, view.notes);
    take(lanes, view.lanes);
    take(overview, view.overview);
  },
};

/** A view says nothing of a list that is as it was: then it is as in the view before, which was not shown. */
function laidOver(before: View, view: View): View {
  return {
    ...view,
    tables: view.tables ?? before.tables,
    queue: view.queue ?? before.queue,
    runs: view.runs ?? before.runs,
    scheduler: view.scheduler ?? before.scheduler,
    events: view.events ?? before.events,
    tree: view.tree ?? before.tree,
    rectangle: view.rectangle ?? before.rectangle,
    requests: view.requests ?? before.requests,
    series: view.series ?? before.series,
    landmarks: view.landmarks ?? before.landmarks,
    notes: view.notes ?? before.notes,
    lanes: view.lanes ?? before.lanes,
    overview: view.overview ?? before.overview,
  };
}

const showing = new Showing<View>(PICTURE, [TABLES, LISTS, CURVES], laidOver, ({ position, map }) => {
  return position.mode === 'at' && map !== null;
});

/** The view that came and is not shown yet. */
let next: View | null = null;

function showNext(): void {
  const view = next;
  next = null;
  if (view === null) return;
  if (openSession !== null) {
    showing.show(view);
    afterFrame(() => tell({ kind: 'credit' }));
  } else tell({ kind: 'credit' });
}

/** Once all that the worker said by now is on the screen; what it says meanwhile may follow. */
export function whenDrawn(): Promise<void> {
  const awaited = next;
  let views: number | null = null;
  return new Promise((resolve) => {
    const look = (): void => {
      if (views === null && (awaited === null || next !== awaited)) views = showing.count;
      if (views !== null && showing.hasShownAll(views)) requestAnimationFrame(() => resolve());
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}

worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  if (data.kind === 'answer') {
    questions.get(data.id)?.(data.value);
    questions.delete(data.id);
  } else if (data.kind === 'view') {
    next = data.view;
    beforeFrame(showNext);
  } else if (data.session !== openSession) return;
  else if (data.kind === 'failed') failure.value = data.message;
  else {
    if (next !== null) {
      // Of the session before: its changes are none of the new picture's.
      next = null;
      tell({ kind: 'credit' });
    }
    picture.reset(data.hello.num_blocks);
    hello.value = data.hello;
  }
};
worker.onerror = (event) => {
  failure.value = event.message;
};
tell({ kind: 'credit' });

effect(() => {
  const wants: Wants = {
    colouring: wantColouring.value,
    order: wantOrder.value,
    tables: wantTables.value,
    queue: wantQueue.value,
    scheduler: wantScheduler.value,
    events: wantEvents.value,
    tree: wantTree.value,
    selection: selection.value,
    rectangle: wantRectangle.value,
    requests: wantRequests.value,
    series: wantSeries.value,
    token: wantToken.value,
  };
  tell({ kind: 'wants', wants });
});

function forget(): void {
  showing.forget();
  hello.value = null;
  failure.value = null;
  position.value = NOWHERE;
  light.value = UNKNOWN;
  notice.value = null;
  for (const panel of [
    health,
    status,
    stored,
    lag,
    tables,
    queue,
    nextToGo,
    runs,
    scheduler,
    events,
    tree,
    block,
    request,
    series,
    landmarks,
    notes,
    lanes,
    overview,
    token,
    shading,
    marked,
    inside,
    ending,
  ]) {
    panel.value = null;
  }
  requests.value = new Map();
  usage.value = { active: 0, shared: 0, cached: 0, free: 0 };
}

export interface Opening {
  readonly id: string;
  readonly live: boolean;
  /** null: the live end, or the beginning. */
  readonly to: Destination | null;
  readonly lastStep: number;
  readonly lastRecord: number;
  readonly wish: Wish;
}

/** What this page asks for of the session that is open. */
export const asked = signal<Wish>({ text: true, rate: null });

export function openLedger(opening: Opening): void {
  batch(() => {
    forget();
    link.value = opening.live ? 'connecting' : 'replay';
  });
  openSession = opening.id;
  const { id, live, to, lastStep, lastRecord, wish } = opening;
  asked.value = wish;
  const api = new URL('api/', document.baseURI).href;
  tell({ kind: 'open', session: id, api, live, to, lastStep, lastRecord, recording, wish });
}

export function closeLedger(): void {
  openSession = null;
  tell({ kind: 'close' });
  batch(forget);
}
