/**
 * Every word that the page says, in one place, so that another language is one more module like this one.
 *
 * Names of operations, causes and states are the field's own and the ledger's; they stay as they are in any language.
 */

import { integer, percent, span } from './format';
import { Cause, NONE, Operation, Pin } from './ledger/generated/constants';
import type { Waiting } from './ledger/generated/types';
import { playground } from './wording/playground';
import { plural } from './wording/plural';
import type { EventRow } from './worker/answers/events';

function names(codes: Readonly<Record<string, number>>): string[] {
  const list: string[] = [];
  for (const [name, code] of Object.entries(codes)) list[code] = name;
  return list;
}

export const OPERATION_NAMES = names(Operation);
export const CAUSE_NAMES = names(Cause).map((name) => name.replace('_', ' '));
export const PIN_NAMES = names(Pin).map((name) => name.replace('_', ' '));

const n = integer;
/** What ended a sequence: a stop id, a stop string, or the model's own end. */
const stop = (by: number | string | null | undefined): string => {
  if (by == null) return '';
  return typeof by === 'number' ? ` on token ${by}` : ` on ${JSON.stringify(by)}`;
};

export const text = {
  product: 'kvarium',
  panels: {
    tables: 'tables',
    scheduler: 'scheduler',
    playground: 'playground',
    map: 'map',
    events: 'events',
    queue: 'Free queue',
    runs: 'Free runs',
    waiting: 'Waiting',
    timeline: 'Timeline',
    block: 'Block',
    request: 'Request',
    session: 'Session',
    left: 'Tables, scheduler and playground',
    inspector: 'Inspector',
    biography: 'Biography',
    story: 'Story',
  },
  bar: {
    live: 'live',
    replay: 'replay',
    interrupted: 'interrupted',
    interruptedTitle: 'A recording whose engine or server went away without a word: its end may be missing',
    engineAway: 'engine —',
    engineAwayTitle: 'The connection is lost: how the engine goes is not known',
    steps: (last: number) => `A step is a whole number from 0 to ${n(Math.max(0, last))}.`,
    noSuchStep: (last: number) => `The last step is ${n(Math.max(0, last))}.`,
    linkLost: 'server lost',
    connecting: 'connecting',
    engineGone: 'connection lost, waiting',
    engineGoneTitle:
      'The engine’s connection to the server is lost; the session ends if it does not come back',
    behind: (steps: number) => `${plural(steps, 'step')} behind`,
    first: 'First step',
    back: 'One step back',
    forward: 'One step on',
    pause: 'Pause the view',
    play: 'Play at the recorded pace',
    follow: 'follow',
    end: 'end',
    followTitle: 'Follow the live end',
    endTitle: 'Go to the last step',
    rate: (rate: number) => `× ${rate}`,
    rateTitle: 'Times the recorded pace',
    step: 'step',
    goToStep: 'Go to step',
    used: (part: number, whole: number) => `${percent(part, whole)} used`,
    usageTitle: (active: number, shared: number, cached: number, free: number, usable: number) =>
      `active ${n(active)} · shared ${n(shared)} · cached, free ${n(cached)} · free ${n(free)}\n` +
      `used = (active + shared) ÷ ${n(usable)} usable blocks, as vLLM counts it`,
    engineRuns: 'engine running',
    engineHeld: 'engine held',
    hold: 'hold',
    release: 'release',
    stepEngine: 'step engine',
    stepEngineTitle: 'Let the engine do one step',
    holdTitle: 'Hold the engine itself, for everybody who watches',
    releaseTitle: 'Let the engine go on',
    resetCache: 'reset cache',
    resetCacheTitle: 'Reset the prefix cache: no block keeps its content. Only while no block is in use',
    sessions: 'All sessions',
    theme: (to: string) => `Use the ${to} theme`,
    keys: 'Keys',
  },
  engine: {
    reset: (blocks: number) =>
      blocks === 0
        ? 'The prefix cache was empty already.'
        : `The prefix cache is reset: ${plural(blocks, 'block')} lost ${blocks === 1 ? 'its' : 'their'} content.`,
    notReset: (why: string) => `The prefix cache is not reset: ${why}.`,
  },
  light: {
    green: 'verified',
    grey: 'unverified',
    red: 'fault',
    waiting: 'waiting for the first step',
    waitingTitle: 'The engine has done nothing yet: there is nothing to verify.',
    greenTitle: (record: number) =>
      `This page folded record ${n(record)} itself, and its digests equal those that the engine sent.`,
    greyTitle: (why: string) => `Nothing is verified here: ${why || 'no record folded yet'}.`,
    redTitle: (record: number, message: string) => `At record ${n(record)}: ${message}`,
    alarm: (record: number) => `This mirror went wrong at record ${n(record)}.`,
    alarmAdvice:
      'What is shown from there on can’t be trusted. The light stays red until the page is loaded again.',
  },
  states: {
    active: 'active',
    shared: 'shared',
    cached: 'cached, free',
    free: 'free',
    fresh: 'just changed',
    freshTitle: 'Blocks that the present step changed glow',
    ofClass: ['free', 'cached, free', 'active', 'shared'],
  },
  mapKey: {
    title: 'How to read a block',
    count: 'The number is the ref count, where it is more than one.',
    fill: 'The bar at the foot is how many of its slots are filled.',
    next: 'Framed: the next block to go, the head of the free queue.',
    fresh: 'A glow: the present step changed it. The colour of its state stays below.',
  },
  tables: {
    /** In parts, each of which is shown whole or not at all. */
    count: (shown: string, total: number, requests: number): readonly string[] =>
      total === 0 ? [] : [`${shown} of ${n(total)}`, `· ${plural(requests, 'request')}`],
    tokens: (tokens: number) => `${n(tokens)} tok`,
    decode: 'decode',
    prefill: (done: number, all: number) => `prefill ${n(done)} / ${n(all)}`,
    copied: 'copied its last block',
    more: (count: number) => `${n(count)} more`,
    hole: 'no block here: it was freed',
    empty: 'No sequence holds a block.',
    emptyAdvice: 'Block tables appear when a request is admitted.',
    write: ['Press ', ' to write a prompt.'],
    chip: (block: number, state: string, count: number, filled: number, size: number) =>
      `block ${block} · ${state}${count > 1 ? ` by ${count}` : ''} · filled ${filled} of ${size}`,
  },
  scheduler: {
    running: 'running',
    waiting: 'waiting',
    budget: 'token budget',
    ofBudget: (used: number, budget: number) => (budget > 0 ? `${n(used)} of ${n(budget)}` : n(used)),
    runningOf: (count: number, most: number | null) =>
      most === null ? n(count) : `${n(count)} of ${n(most)}`,
    prefill: (tokens: number) => `${n(tokens)} prefill`,
    decode: (tokens: number) => `${n(tokens)} decode`,
    thisStep: (step: number) => `Step ${n(step)}`,
    didNothing: 'did nothing to any block',
    notLoaded: 'The record of this step is not loaded.',
    times: ['schedule', 'forward', 'sample', 'seal'],
    admitted: (tokens: number, hit: number) =>
      `admitted · ${n(tokens)} tokens${hit > 0 ? `, ${n(hit)} cached` : ''}`,
    preempted: (victim: string, blocks: number, tokens: number) =>
      `preempted for ${victim} · ${plural(blocks, 'block')} freed, ${n(tokens)} tokens to recompute`,
    ended: (how: string) => `ended · ${how}`,
    noneWaiting: 'Nobody waits.',
    more: (count: number) => `and ${n(count)} more`,
    decisions: 'Decisions',
    operations: 'Operations',
  },
  /** With a step: the reason was told at that one, and its figures are of then. */
  waiting: (reason: (Waiting & { readonly step?: number }) | null): string => {
    if (reason === null) return 'reason not in the loaded part';
    switch (reason.reason) {
      case 'blocks': {
        const { needs, free, step } = reason;
        const need = `needs ${plural(needs ?? 0, 'block')}`;
        // In the midst of that step: others may have been freed later in it.
        if (step !== undefined) return `${need}; step ${n(step)} found ${n(free ?? 0)} free`;
        return `${need}, ${n(free ?? 0)} free`;
      }
      case 'fragmentation': {
        const { needs, free, largest } = reason;
        return `needs ${plural(needs ?? 0, 'block')} in one run; ${n(free ?? 0)} free, at most ${n(largest ?? 0)} together`;
      }
      case 'budget':
        return 'the step’s token budget is used up';
      case 'max_num_seqs':
        return 'as many run as may';
      case 'behind':
        return `behind r${reason.behind ?? '?'}${reason.needs != null ? `; needs ${n(reason.needs)}` : ''}`;
    }
  },
  map: {
    blocks: (count: number, size: number) => `${n(count)} × ${n(size)} slots`,
    label: (count: number) =>
      `Memory map of ${n(count)} blocks. Arrow keys move, Enter selects, plus and minus zoom, 0 shows all.`,
    zoomIn: 'Zoom in',
    zoomOut: 'Zoom out',
    fit: 'Show all blocks',
    fallback: 'without WebGL2',
    tip: (state: string, count: number) => (count > 1 ? `${state} by ${count}` : state),
    filled: (filled: number, size: number) => `filled ${filled} / ${size}`,
    content: 'holds content',
  },
  queue: {
    summary: (length: number, order: string) =>
      `head → tail · ${plural(length, 'block')}${order ? ` · ${order}` : ''}`,
    more: (count: number) => `… ${n(count)} more`,
    next: 'next to go',
    loses: (content: number, start: string | null, hits: number) =>
      `loses ${start === null ? `content ${n(content)}` : `“${oneLine(start)} …”`}, ${hits === 0 ? 'never hit' : plural(hits, 'hit')}`,
    nothing: 'holds nothing',
    empty: 'The queue is empty: every block is in use. The next allocation preempts somebody.',
  },
  runs: {
    firstFit: 'first fit',
    largest: 'longest',
    summary: (free: number, count: number) => `${plural(free, 'free block')} in ${plural(count, 'run')}`,
    range: (first: number, last: number) => (first === last ? n(first) : `${n(first)} – ${n(last)}`),
    run: (length: number) => `${plural(length, 'block')} in one run`,
    empty: 'No run is free: every block is set aside. Who comes next waits.',
  },
  events: {
    filter: 'Filter',
    all: 'all',
    block: 'block',
    request: 'request',
    clear: 'Clear the filter',
    now: 'now',
    empty: 'Nothing in the loaded part meets this filter.',
    emptyStep: 'Nothing happened yet.',
    from: (step: number, complete: boolean) =>
      complete ? `loaded from step ${n(step)}` : `searched back to step ${n(step)} …`,
    anyBlock: 'any',
    columns: ['step', 'operation', 'block', 'for', 'what'],
  },
  timeline: {
    use: 'KV use',
    tokens: 'tokens',
    marks: 'events',
    all: 'all',
    recent: 'recent',
    label: 'Timeline: drag to move through the session. Arrow keys move by a step.',
    tip: (first: number, last: number) =>
      first === last ? `step ${n(first)}` : `steps ${n(first)} – ${n(last)}`,
    used: (most: number, cached: number, single: boolean) =>
      single
        ? `${(100 * most).toFixed(1)} % used, ${(100 * cached).toFixed(1)} % cached`
        : `at most ${(100 * most).toFixed(1)} % used, ${(100 * cached).toFixed(1)} % cached on average`,
    tokensTip: (prefill: number, decode: number, single: boolean) =>
      `${n(prefill)} prefill, ${n(decode)} decode${single ? '' : ' tokens in all'}`,
    partly: (known: number) => `only ${plural(known, 'step')} of them known`,
    filling: 'being loaded',
    evicted: (count: number) => plural(count, 'eviction'),
    copied: (count: number) => plural(count, 'copy', 'copies'),
    preempted: (count: number) => plural(count, 'preemption'),
    legend: {
      evict: 'evictions',
      copy: 'copies',
      preempt: 'preemptions',
      prefill: 'prefill',
      decode: 'decode',
    },
    empty: 'No step yet.',
  },
  inspector: {
    state: 'state',
    heldBy: 'held by',
    nobody: 'nobody',
    content: 'content',
    none: 'none',
    notLabelled: 'not labelled yet: the block is not full',
    noParent: 'first of a prompt',
    parentUnknown: 'parent not loaded',
    filled: 'filled',
    hits: 'hits',
    queue: 'in the queue',
    run: 'free run',
    memory: 'memory',
    reserves: (reserve: string) =>
      `contiguous, each sequence reserves ${reserve === 'max' ? 'the maximum' : reserve === 'exact' ? 'exactly what it may need' : 'the next power of two'}`,
    paged: 'paged',
    weights: 'weights',
    randomWeights: 'random (load_format dummy)',
    rank: (rank: number, of: number) =>
      rank === 0 ? `next to go, of ${n(of)}` : `${n(rank + 1)} of ${n(of)}`,
    ticket: 'ticket',
    also: 'also in',
    pinned: (pin: string) => `pin: ${pin}`,
    refCount: (count: number) => `ref count ${n(count)}`,
    more: (count: number) => `${n(count)} more`,
    lifeOf: (generation: number) => `life ${n(generation)}`,
    neverUsed: 'never used',
    bytesEach: (size: string) => `${size} in all layers`,
    noBiography: 'Nothing happened to it in the loaded part.',
    fills: (from: number, to: number, size: number, times: number) =>
      `${from} → ${to} of ${size}, ${times} writes`,
    notLoaded: (step: number) => `Before step ${n(step)}: not loaded.`,
    loadEarlier: 'Load earlier',
    hint: 'Click a block or a sequence to see who holds it and what happened to it.',
    model: 'model',
    engine: 'engine',
    device: 'device',
    pool: 'pool',
    poolOf: (blocks: number, size: number) => `${n(blocks)} blocks × ${n(size)} slots`,
    poolBytes: 'KV memory',
    kvDtype: (dtype: string) => `as ${dtype}`,
    started: 'started',
    clock: 'clock',
    settings: 'Settings',
    prompt: 'prompt',
    maxTokens: 'at most',
    tokens: (count: number) => `${n(count)} tokens`,
    toGenerate: (count: number, samples: number) =>
      samples > 1 ? `up to ${n(count)} new ones each` : `up to ${n(count)} new ones`,
    samples: 'samples',
    priority: 'priority',
    notThere: 'not in the engine at this step',
    why: 'waits',
    sequence: (blocks: number, shared: number, tokens: number) =>
      `${plural(blocks, 'block')}, ${n(shared)} shared · ${n(tokens)} tokens`,
    slot: (slot: number, token: number | null, piece: string | null) =>
      `slot ${slot}${token === null ? '' : ` · token ${token}`}${piece === null ? '' : ` · ${JSON.stringify(piece)}`}`,
    blockText: 'The text of this block, token by token',
    emptySlot: (slot: number) => `slot ${slot} · not written`,
    slots: (filled: number, size: number, pieces: string) =>
      `${filled} of ${size} slots are written${pieces === '' ? '' : `: ${pieces}`}`,
    contentId: (content: number) => `content ${n(content)}`,
    ended: (kind: string, reason: string | null, by: number | string | null, step: number) =>
      `${kind}${reason === null ? '' : ` · ${reason}${stop(by)}`} at step ${n(step)}`,
    loraName: 'LoRA name',
    cacheSalt: 'cache salt',
    sentRequest: 'It was sent, and appears with the engine’s next step.',
    unknownRequest: 'This page has not seen this request in the loaded part.',
    previous: 'Previous change of the selection',
    nextChange: 'Next change of the selection',
    clear: 'Select nothing',
  },
  said: {
    prompt: 'Prompt',
    tokens: (count: number) => plural(count, 'token'),
    loading: 'Loading what was said …',
    notRecorded: 'The text of this session is not recorded (--record-text none).',
    nothingYet: 'nothing yet',
    missing: (count: number | null) =>
      count === null
        ? 'some tokens are not recorded'
        : `${plural(count, 'token')} ${count === 1 ? 'is' : 'are'} not recorded`,
    cutAfter: (count: number) => `${plural(count, 'more token')}`,
    cutBefore: (count: number) => `${plural(count, 'token')} before this`,
    idsTitle: 'Tokens without text, by their ids',
    dropped: 'ended',
  },
  playground,
  odds: {
    shade: 'shade by probability',
    scale: ['≥ 50 %', '20', '5', '1', '< 1'],
    scaleTitle: 'How likely the model held each token, before penalties and temperature',
    token: (token: number) => `token ${token}`,
    rank: (rank: number) => `rank ${n(rank)}`,
    logprob: (token: number, logprob: number) => `token ${token} · logprob ${logprob.toFixed(3)}`,
    several: (count: number) => `the first of ${count} tokens that write this character together`,
  },
  ending: (reason: string, by: number | string | null): string => `${reason}${stop(by)}`,
  beams: {
    title: 'Beams',
    live: (count: number, width: number) => `${n(count)} of ${n(width)}`,
    noneLives: 'No beam lives at this step.',
    of: (parent: string) => `from ${parent}`,
    answers: 'Answers',
    found: (count: number, wanted: number) => `${n(count)} found, ${n(wanted)} wanted`,
    noneFound: 'None found yet.',
    rank: (rank: number) => `${rank + 1}.`,
    score: (score: number) => score.toFixed(3),
    scoreTitle:
      'The sum of its tokens’ log probabilities, divided by its length to the power of the length penalty',
    row: (tokens: number | null, reason: string, step: number) =>
      `${tokens === null ? '' : `${plural(tokens, 'token')} · `}${reason} at step ${n(step)}`,
    rest: 'not among the answers',
    width: 'beam width',
    wanted: 'answers',
  },
  decisions: {
    submitted: 'submitted',
    admitted: 'admitted',
    sequence_created: 'sequence',
    sequence_dropped: 'dropped',
    hypothesis: 'answer',
    scheduled: 'scheduled',
    waiting: 'waiting',
    preempted: 'preempted',
    finished: 'finished',
    aborted: 'aborted',
    refused: 'refused',
  },
  event: (row: EventRow, blockSize: number): string => describe(row, blockSize),
  footer: {
    mirror: 'mirror',
    verified: 'verified',
    unverified: 'unverified',
    waiting: 'waiting',
    wrong: 'WRONG',
    atRecord: (record: number) => `at record ${n(record)}`,
    engine: 'engine:',
    operations: 'operations',
    operationsTitle: 'What the engine does now, wherever the view is',
    lag: 'lag',
    lagTitle: 'From the sealing of a record in the engine to this page (the two clocks must agree)',
    gaps: 'gaps',
    hits: 'prefix hits',
    hitsTitle: (hits: number, queries: number) =>
      `${n(hits)} of ${n(queries)} tokens were found in the prefix cache when their requests first began to run`,
    ledger: 'ledger',
    ofStep: 'of a step',
    recording: 'recording',
    sizeTitle: (file: string | null) =>
      `What this session takes, compressed${file === null ? '' : `; the file with all that is in it, and its journal: ${file}`}`,
    serverFault: 'the server’s fold found a fault',
    recordingError: 'not recorded',
    keys: 'keys',
    clock: 'session time',
  },
  sessions: {
    unknown: (id: string) => `There is no session ${id} here.`,
    unknownAdvice:
      'It may have been recorded by another server, or into another file. These are the sessions of this one:',
    title: 'Sessions',
    loading: 'Asking the server …',
    starting: 'The engine is starting.',
    startingAdvice: 'It loads its model; the screen opens by itself as soon as it runs.',
    empty: 'Nothing is recorded yet.',
    emptyAdvice: 'Start an engine beside this server, then it appears here:',
    emptyCommand: 'kvarium engine --connect ws://127.0.0.1:8642/api/engine',
    failed: 'The server does not answer.',
    failedAdvice: 'Is it running? Start it, and this page goes on by itself:',
    failedCommand: 'kvarium serve',
    retry: 'Try again',
    columns: [
      'session',
      'state',
      'engine',
      'pool',
      'steps',
      'operations',
      'length',
      'stored',
      'started',
      'file',
    ],
    stored: 'stored',
    storedTitle: 'What the recording takes on disk; in each row also what the engine sent',
    sizes: (stored: string, sent: string) => `${stored} on disk, compressed; the engine sent ${sent}`,
    download: 'download',
    downloadTitle: 'One file with this session alone',
    faults: (gaps: number, violations: number) =>
      [gaps > 0 ? plural(gaps, 'gap') : '', violations > 0 ? plural(violations, 'violation') : '']
        .filter(Boolean)
        .join(', '),
    states: {
      live: 'live',
      ended: 'ended',
      interrupted: 'interrupted',
      waiting: 'connection lost, waiting',
    },
    length: (ns: number) => span(ns),
    open: (name: string) => `Open ${name}`,
  },
  stage: {
    opening: 'Opening the session …',
    joining: 'Waiting for the state of the engine …',
    seeking: (step: number) => `Loading step ${n(step)} …`,
    noState: 'This session holds no step.',
    failed: 'This session could not be opened.',
    back: 'All sessions',
    linkLost:
      'The connection to the server is lost. It is tried again by itself; what is loaded can still be read.',
    retryNow: 'Try now',
    engineGone: 'The connection to the engine is lost: the server waits for it. What it did is recorded.',
    wrongStep: (said: string) =>
      `The address asks for step ${said}: a step is a whole number, 0 or more. It is opened without it.`,
    dismiss: 'Dismiss',
    newcomer: (name: string) => `A new session is live${name === '' ? '.' : `: ${name}.`}`,
    openIt: 'Open it',
  },
  commands: {
    play: 'Pause the view, or play on',
    forward: 'One step on',
    back: 'One step back',
    forward10: 'Ten steps on',
    back10: 'Ten steps back',
    end: 'Follow the live end, or go to the last step',
    home: 'First step',
    go: 'Go to a step',
    hold: 'Hold or release the engine',
    stepEngine: 'Let a held engine do one step',
    resetCache: 'Reset the prefix cache',
    tables: 'Block tables',
    scheduler: 'Scheduler',
    playground: 'Playground: send a prompt',
    map: 'Memory map',
    events: 'Events',
    queue: 'Free queue',
    inspector: 'Inspector',
    timeline: 'Timeline',
    theme: 'Dark or light',
    sessions: 'All sessions',
    keys: 'This list',
    next: 'Next change of the selection',
    previous: 'Previous change of the selection',
    clear: 'Select nothing; from the sessions back to the one that was open',
  },
  keys: {
    title: 'Keys',
    close: 'Close',
    groups: {
      view: 'The view',
      engine: 'The engine',
      panels: 'Panels',
      selection: 'Selection',
      map: 'On the map',
    },
    arrows: 'Move to the next block',
    enter: 'Select the block',
    zoom: 'Zoom in, out, show all',
    timeline: 'On the timeline: a step back, on',
    send: 'In the playground: send the prompt',
  },
} as const;

/** Text as a part of a sentence. */
export function oneLine(piece: string): string {
  return piece.replaceAll(/\n+/g, '⏎').trim();
}

/** White space that can be seen. */
export function visible(piece: string): string {
  return piece.replaceAll(' ', '␣').replaceAll('\n', '⏎').replaceAll('\t', '⇥');
}

/** One line that says what an operation or decision did. */
function describe(row: EventRow, blockSize: number): string {
  if (typeof row.kind !== 'number') {
    const d = row.kind;
    switch (d.kind) {
      case 'submitted':
        return `${d.name} · ${n(d.prompt_tokens)} + ${n(d.max_tokens)} tokens${(d.n ?? 1) > 1 ? `, n = ${d.n}` : ''}`;
      case 'admitted':
        return `${n(d.tokens)} tokens, ${n(d.hit ?? 0)} hit${d.cap_applied === true ? ' (one left to compute)' : ''}`;
      case 'sequence_created':
        return d.parent == null ? 'first of its request' : 'forked';
      case 'sequence_dropped':
        return d.reason == null
          ? 'ended before its request'
          : `ended before its request: ${d.reason}${stop(d.stop_reason)}`;
      case 'hypothesis':
        return `${n(d.tokens + 1)} tokens, ${d.reason}, score ${d.score.toFixed(3)}`;
      case 'scheduled':
        return `prefill of ${n(d.tokens)} from ${n(d.start)}`;
      case 'waiting':
        return text.waiting(d);
      case 'preempted':
        return `for r${d.victim_of} · ${plural(d.blocks, 'block')} freed, ${n(d.tokens)} tokens to recompute`;
      case 'finished':
        return d.message == null ? `${d.reason}${stop(d.stop_reason)}` : `${d.reason}: ${d.message}`;
      case 'aborted':
        return d.asked_by ? `by ${d.asked_by}` : '';
      case 'refused':
        return d.message;
    }
  }
  const cause = CAUSE_NAMES[row.cause] ?? `cause ${row.cause}`;
  const at = row.position === NONE ? ', pin' : ` at ${n(row.position)}`;
  switch (row.kind) {
    case Operation.allocate:
      return `${cause}${at}`;
    case Operation.evict:
      return `${cause} · content ${n(row.value)}, ${plural(row.before, 'hit')}`;
    case Operation.reuse:
      return `${cause}${at}, from the queue`;
    case Operation.copy:
      return `of block ${row.value}${at}`;
    case Operation.fill:
      return `${cause} · ${row.before} → ${row.value} of ${blockSize}`;
    case Operation.cache:
      return `content ${n(row.value)}`;
    case Operation.free:
      return `${cause}${at}, ticket ${n(row.value)}`;
    default:
      return `${cause}${at}`;
  }
}
