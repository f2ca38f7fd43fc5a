/** The ledger worker: receives what the page asks, lets the session work in slices, and sends views. */

import { compareSteps } from './compare';
import { findEvent } from './find';
import { hitOf } from './hit';
import type { Compared, Found, FromWorker, Question, ToWorker } from './protocol';
import { Publisher } from './publisher';
import { Session } from './session';

/** ms of work between two looks at what the page asks. */
const SLICE = 10;
const FRAME = 16;

const scope = globalThis as unknown as {
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

let session: Session | null = null;
let publisher: Publisher | null = null;
let opening = 0;
let credit = false;
let wants: Extract<ToWorker, { kind: 'wants' }>['wants'] | null = null;
let waiting: { id: number; question: Question }[] = [];
/** Who asked whether the view is ready is told so after the view. */
const ready: number[] = [];

// A message to oneself comes back sooner than a timer, and lets other messages in between.
const channel = new MessageChannel();
let woken = false;
let timer: ReturnType<typeof setTimeout> | null = null;

function wake(): void {
  if (woken) return;
  woken = true;
  channel.port2.postMessage(0);
}

function wakeIn(ms: number): void {
  if (timer !== null) return;
  timer = setTimeout(() => {
    timer = null;
    wake();
  }, ms);
}

channel.port1.onmessage = () => {
  woken = false;
  if (session === null || publisher === null) return;
  const state = session.work(SLICE);
  // Lists are looked up when there is nothing more urgent, and at least a little in any case.
  const begin = performance.now();
  const looking = publisher.work(begin + (state === 'again' || publisher.hasPicture(begin) ? 1 : SLICE));
  answerWaiting();
  const now = performance.now();
  const due = publisher.due(now);
  if (due !== null && credit) {
    if (due === 0) {
      const { view, transfer } = publisher.view(now);
      credit = false;
      scope.postMessage({ kind: 'view', view }, transfer);
      for (const id of ready.splice(0)) scope.postMessage({ kind: 'answer', id, value: true });
    } else wakeIn(due);
  }
  if (state === 'again' || looking) wake();
  else if (state === 'soon') wakeIn(FRAME);
};

/** Questions wait until the view is where it was asked to be. */
function answerWaiting(): void {
  if (waiting.length === 0 || session === null || publisher === null) return;
  if (session.navigator.moving || !session.fold.loaded) return;
  for (const { id, question } of waiting) {
    if (question === 'state') scope.postMessage({ kind: 'answer', id, value: publisher.state() });
    else if (question === 'tree') scope.postMessage({ kind: 'answer', id, value: publisher.wholeTree() });
    else if (question === 'bases')
      scope.postMessage({ kind: 'answer', id, value: session.navigator.lookAhead.told });
    else {
      ready.push(id);
      publisher.hurry();
    }
  }
  waiting = [];
}

async function open(message: Extract<ToWorker, { kind: 'open' }>): Promise<void> {
  close();
  const mine = ++opening;
  try {
    const opened = await Session.open(message, wake);
    if (mine !== opening) {
      opened.close();
      return;
    }
    session = opened;
    publisher = new Publisher(opened);
    if (wants !== null) publisher.want(wants);
    scope.postMessage({ kind: 'opened', session: message.session, hello: opened.hello });
    wake();
  } catch (error) {
    if (mine !== opening) return;
    scope.postMessage({ kind: 'failed', session: message.session, message: (error as Error).message });
  }
}

async function find(message: Extract<ToWorker, { kind: 'find' }>): Promise<void> {
  const value: Found =
    session === null
      ? { row: null }
      : await findEvent(session, message.filter, message.direction, message.from);
  scope.postMessage({ kind: 'answer', id: message.id, value });
}

async function hit({ id, record }: Extract<ToWorker, { kind: 'hit' }>): Promise<void> {
  const value = session === null ? null : await hitOf(session, record);
  scope.postMessage({ kind: 'answer', id, value });
}

async function compare({ id, from, to }: Extract<ToWorker, { kind: 'compare' }>): Promise<void> {
  let value: Compared = { fault: 'no session is open' };
  try {
    if (session !== null) value = await compareSteps(from, to, session.hello, session.requests);
  } catch (error) {
    value = { fault: (error as Error).message };
  }
  scope.postMessage({ kind: 'answer', id, value });
}

function close(): void {
  opening++;
  session?.close();
  session = null;
  publisher = null;
}

scope.onmessage = ({ data }) => {
  switch (data.kind) {
    case 'open':
      void open(data);
      break;
    case 'close':
      close();
      break;
    case 'follow':
      session?.toLiveEnd();
      break;
    case 'go':
      session?.transport.go(data.to);
      break;
    case 'expect':
      session?.navigator.foresight.expect(data.step);
      break;
    case 'by':
      session?.transport.by(data.steps);
      break;
    case 'byOperations':
      session?.transport.byOperations(data.operations);
      break;
    case 'landmark':
      void session?.transport.toLandmark(data.of, data.direction, data.from);
      break;
    case 'playOrPause':
      session?.transport.playOrPause(data.pace);
      break;
    case 'pace':
      session?.transport.setPace(data.pace);
      break;
    case 'retry':
      session?.retry();
      break;
    case 'earlier':
      session?.loadEarlier();
      break;
    case 'dismiss':
      session?.dismiss();
      break;
    case 'change':
      session?.transport.pause();
      publisher?.toChange(data.direction);
      break;
    case 'wants':
      wants = data.wants;
      publisher?.want(data.wants);
      break;
    case 'credit':
      credit = true;
      break;
    case 'find':
      void find(data);
      break;
    case 'hit':
      void hit(data);
      break;
    case 'compare':
      void compare(data);
      break;
    case 'ask':
      waiting.push({ id: data.id, question: data.question });
      break;
  }
  wake();
};
