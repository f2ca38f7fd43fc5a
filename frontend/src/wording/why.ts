/**
 * What answers to *why* say (docs/why.md). In braces stands what is shown as a link, or as a figure of its own:
 * {who} a request, {life} the number of a block, {at} a place in the session.
 */

import { duration, integer } from '../format';
import { are, plural, were } from './plural';

const n = integer;
const blocks = (count: number): string => plural(count, 'block');
const steps = (count: number): string => plural(count, 'step');

export const why = {
  gone: 'The server does not answer: is it running?',
  ended: 'The question was ended.',
  noSession: 'No session is open.',
  notInPage:
    'This page holds no answer to this: only those that were made when it was exported. On the recording itself, `kvarium why` has them all.',

  instead: (step: number) => `Show the nearest answer, of step ${n(step)}`,
  insteadAny: 'Show the answer that there is',

  title: 'Why',
  questions: 'Questions',
  names: {
    evicted: 'evicted',
    preempted: 'preempted',
    waits: 'waits',
    missed: 'missed',
    memory: 'memory',
    leaks: 'leaks',
  },
  asks: {
    evicted: 'Why was block {life} evicted?',
    evictedOp: 'Why this eviction, operation {op}?',
    preempted: 'Why was {who} preempted?',
    waits: 'Why does {who} wait?',
    missed: 'Why did the prefix of {who} miss?',
    memory: 'Where does the memory go?',
    leaks: 'Is anything leaking?',
  },
  ask: 'why?',
  askTitle: 'Why? What the recording knows of the reasons (y)',
  askOf: {
    evicted: 'Why was it evicted?',
    preempted: 'Why was it preempted?',
    waits: 'Why does it wait?',
    missed: 'Why did its prefix miss?',
    memory: 'Where does the memory go?',
    leaks: 'Is anything leaking?',
  },
  upTo: (step: number) => `the last time up to step ${n(step)}`,
  after: (step: number) => `after step ${n(step)}`,
  asOf: (step: number) => `asked at step ${n(step)}`,
  again: 'ask again',
  againAt: (step: number) => `ask at step ${n(step)}`,
  close: 'Close the answer',
  asking: (seconds: number) => `asking … ${n(seconds)} s`,
  stop: 'Stop',
  notSo: 'Not so, or not recorded',
  tooMany: 'Too many ask at once',
  tooLong: 'The question was ended',
  noAnswer: 'No answer',
  unknown: 'not recorded',
  nobodyKnown: 'a request that is not recorded',
  more: (count: number) => `${n(count)} more`,
  goThere: (step: number, op: number) =>
    `Go to step ${n(step)}, operation ${n(op)}, and select what happened there`,
  goToRecord: (record: number) => `Go to record ${n(record)}`,
  place: (step: number, op: number) => `step ${n(step)}, op ${n(op)}`,
  span: (count: number, ns: number) => `${steps(count)} (${duration(ns)})`,

  eviction: {
    allocate: (needed: number) => `{who} took ${blocks(needed)} in this step, and this was one of them.`,
    head: (needed: number) =>
      `{who} took ${blocks(needed)} in this step, and this was next in the free queue.`,
    reset: 'The prefix cache was reset.',
    failed_step: 'The forward that should have computed its content failed.',
    unscheduled: 'Its request was preempted in the very step that had scheduled it.',
    otherwise: (cause: string) => `The cause is ${cause}.`,
    when: 'when',
    lost: 'lost',
    content: (content: number) => `content ${n(content)}`,
    asked: 'asked by',
    command: (name: string, by: string) => `${name}, by ${by}`,
    unnamed: 'somebody unnamed',
    queue: 'free queue',
    length: (length: number) => `${blocks(length)} in it`,
    first: 'this one was its head',
    before: (before: number) => `${n(before)} before this one`,
    taken: (taken: number) => `${n(taken)} of them taken in this step too`,
    passedOver: (count: number) => `${n(count)} passed over`,
    queueTitle: (length: number, before: number) =>
      `The free queue, head at the left: ${blocks(length)}, ${n(before)} before this one`,
    empty: (behind: number) =>
      `${blocks(behind)} behind it held no content: taking one would have lost nothing`,
    queueHead: 'its head',
    held: (content: number) => `held content ${n(content)}`,
    heldNothing: 'held nothing',
    inUse: 'it was in use, not in the free queue',
    idle: 'idle',
    idleSince: (operation: string) => `since its ${operation} at {at}`,
    hits: 'hits',
    hit: (times: number) => `${plural(times, 'time')} in this life`,
    neverHit: 'never in this life',
    copies: 'also in',
    copiesTold: 'block {lives}: so nothing was lost',
    noCopy: 'no other block: it left the cache',
    wanted: 'wanted again',
    notWanted: (through: number) => `by nobody, up to record ${n(through)}`,
    wantedBy: (times: number) => `${plural(times, 'time')}:`,
    hows: { missed: 'missed', computed: 'computed', hit: 'hit' },
    missed: 'by {who} at {at}',
    resumed: 'as it resumed after a preemption',
    recomputed: 'computed again in block {life} at {at}',
    computed: 'again by {who} in block {life} at {at}: it had missed a block before it',
    hitIn: 'by {who} in block {life} at {at}',
  },

  holders: {
    running: 'who ran',
    runs: 'who runs',
    requests: 'by request',
    row: (held: number, alone: number) => `${blocks(held)}, ${n(alone)} alone`,
    rowTitle: (held: number, entries: number, alone: number, unused: number) =>
      `${blocks(held)} by ${plural(entries, 'table entry', 'table entries')}; ${are(alone, ' of them')} held by nobody else, and preempting it sets free as many; ${are(unused, unused === 1 ? ' slot in them' : ' slots in them')} not filled`,
    preempted: 'preempted here',
    all: (count: number) => `Show all ${n(count)}`,
  },

  preemption: {
    itself: (free: number, pool: number) =>
      `It needed more blocks itself, ${were(free, ` of ${n(pool)}`)} free, and it was its own turn.`,
    needed: (needs: number, free: number, pool: number) =>
      `{who} needed ${blocks(needs)}, and ${were(free, ` of ${n(pool)}`)} free.`,
    gotNone: (free: number, pool: number) =>
      `It was preempted for {who}, which got no block in the end; ${were(free, ` of ${n(pool)}`)} free.`,
    policies: {
      fcfs: 'First come, first served: the last that began goes first.',
      priority: 'By priority: the least urgent goes first.',
    },
    thrashes: (again: number, gained: number) =>
      `It thrashes: since the preemption before, it computed ${plural(again, 'token')} again and gained ${n(gained)}.`,
    notThrashing: (again: number, gained: number) =>
      `no: since the preemption before, it computed ${plural(again, 'token')} again and gained ${n(gained)}`,
    thrashing: 'thrashing',
    cost: 'cost',
    lost: (tokens: number) => `${plural(tokens, 'computed token')} lost`,
    gaveBack: 'blocks',
    entries: (entries: number, freed: number, released: number) =>
      `${plural(entries, 'table entry', 'table entries')}: ${blocks(freed)} came back, others hold ${n(released)} still`,
    others: 'also went',
    earlier: 'before',
    times: (times: number) => `${plural(times, 'time')}:`,
    first: 'never',
    earlierOne: (lost: number) => `{at} for {who}, ${plural(lost, 'token')} lost`,
    after: 'afterwards',
    resumed: (steps_: number, hit: number, tokens: number) =>
      `resumed ${steps(steps_)} later, at {at}: ${were(hit, ` of ${plural(tokens, 'token')}`)} in the prefix cache still`,
    ended: (how: string, steps_: number) => `${how} ${steps(steps_)} later, at {at}`,
    waits: 'it waits still, at the end of what is recorded',
  },

  wait: {
    blocks: (needs: number, free: number) => `It needs ${blocks(needs)}, and ${were(free)} free.`,
    fragmentation: (needs: number, free: number, largest: number) =>
      `It needs ${blocks(needs)} in one run: the largest run of ${n(free)} free has ${n(largest)}.`,
    budget: 'The tokens of the step were used up.',
    max_num_seqs: 'As many sequences ran as may.',
    behind: 'It stood behind {who}.',
    otherwise: (reason: string) => `The reason is ${reason}.`,
    none: 'No reason of its own was logged since it waits.',
    loggedAt: 'the reason is as it was logged at {at}',
    states: { waiting: 'submitted', preempted: 'preempted' },
    sinceAt: (count: number) => `at {at}, ${steps(count)} ago`,
    ahead: 'before it',
    next: 'nobody: it is the next one',
    head: 'first of all',
    free: 'free now',
    tokens: 'tokens',
    sequences: 'sequences',
    blocksOf: (free: number, pool: number) => `${n(free)} of ${blocks(pool)}`,
    ofMost: (sequences: number, most: number) =>
      `${n(sequences)} ${sequences === 1 ? 'runs' : 'run'}, of at most ${n(most)}`,
    ofBudget: (tokens: number, budget: number) => `${n(tokens)} of ${n(budget)} computed in this step`,
    preempted: 'preempted',
    preemptedTold: '{who} in this step: nobody is admitted in such a step',
  },

  miss: {
    off: 'The prefix cache is off: enable_prefix_caching is false.',
    shortAll: (size: number) =>
      `Its prompt is shorter than a block of ${n(size)}: only full blocks are cached.`,
    short: (left: number, size: number) =>
      `The ${plural(left, 'token')} behind what was hit ${left === 1 ? 'is' : 'are'} less than a block of ${n(size)}: only full blocks are cached.`,
    cap: (left: number) =>
      `All its blocks were cached. The last one, ${plural(left, 'token')}, is computed all the same: the last token always is, and a block is hit whole.`,
    evicted: 'It had been cached, and was evicted: block {life}, the last that held it, lost it.',
    evictedUnknown: 'It had been cached, and was lost.',
    unlabelled:
      'It was being computed: {who} held it in a block that was not full, and only full blocks are cached.',
    other_key: 'The same tokens were cached with {theirs}; this request has {own}.',
    diverges: (token: number) => `Another text was cached: the two part at token ${n(token)}.`,
    divergesUnknown: (hit: number) =>
      `Behind its first ${plural(hit, 'token')} the cache has known another text only.`,
    never_seen: (hit: number) =>
      hit > 0
        ? `Never seen: nothing else that begins with its first ${plural(hit, 'token')} had been cached.`
        : 'Never seen: nothing that begins as it does had been cached.',
    not_recorded:
      'It is not recorded: what was cached before the recording began, or in a gap, is not known.',
    admitted: 'admitted',
    resumed: 'as it resumed after a preemption',
    hit: 'hit',
    ofTokens: (hit: number, tokens: number) => `${n(hit)} of ${plural(tokens, 'token')}`,
    line: (hit: number, first: number, end: number, tokens: number) =>
      `The prompt: ${plural(hit, 'token')} hit, the missed block from ${n(first)} to ${n(end)}, of ${n(tokens)}`,
    missed: 'missed',
    block: (place: number, first: number, last: number) =>
      `block ${n(place)} of its tokens: ${n(first)} to ${n(last)}`,
    nothing: 'nothing that could have been found',
    hash: 'hash',
    capped: 'it ends with the last token, which is always computed: a hit on it would not have been taken',
    lost: 'lost',
    lostAt: (cause: string) => `{life} at {at} (${cause})`,
    lostFor: (cause: string) => `{life} at {at} (${cause}, for {who})`,
    labelled: 'labelled',
    kept: (count: number) => `${steps(count)} before`,
    whyEvicted: 'why was it evicted?',
    behind: 'further on',
    behindTold: (count: number) =>
      `${were(count, count === 1 ? ' block of it' : ' blocks of it')} in the cache still: only a hit on this one leads there`,
    filling: 'was filled',
    filled: (filled: number, size: number) =>
      `block {life} of {who}: ${n(filled)} of ${n(size)} slots filled, labelled at {at}`,
    otherKeys: 'other keys',
    noKeys: 'no extra keys',
    key: { lora: 'LoRA', cache_salt: 'salt' },
    nearest: 'nearest',
    agrees: (agree: number, within: number) =>
      within > 0
        ? `agrees for ${plural(agree, 'token')}; the last ${are(within, ' of them, within a block,')} of no use`
        : `agrees for ${plural(agree, 'token')}, to where a block begins`,
    heldBy: 'held by block {life} then',
    gone: 'lost by then',
    goneAt: 'lost by then, at {at}',
    labelledBy: 'labelled by {who} at {at}',
    own: 'this request',
    cached: 'the cached one',
    from: (first: number) => `from token ${n(first)} on`,
    parts: (own: number, cached: number) => `token ${own} here, ${cached} there`,
    others: 'other times',
  },

  memory: {
    told: (pool: number, used: number) => `${are(used, ` of ${blocks(pool)}`)} in use.`,
    unused: 'not filled',
    unusedOf: (unused: number, slots: number, share: string) =>
      `${n(unused)} of ${plural(slots, 'slot')} in use (${share})`,
    tails: (tails: number, reserved: number) => `in ${blocks(tails)}, ${n(reserved)} of them wholly`,
    sharing: 'sharing',
    saves: (saved: number, entries: number, share: string) =>
      `saves ${n(saved)} of ${blocks(entries)} (${share})`,
    duplicates: 'twice',
    duplicatesTold: (count: number) =>
      `${blocks(count)} ${count === 1 ? 'holds' : 'hold'} content that another one holds too`,
    pins: 'pins',
    pinned: (pins: number, on: number) => `${plural(pins, 'pin')} on ${blocks(on)}`,
    nobody: 'No request holds a block.',
  },

  leak: {
    none: 'Nothing leaks: every block in use is held for a request in the engine, or by a pin.',
    some: (leaking: number, fresh: number, baseline: number) =>
      `${blocks(leaking)} held for nobody, ${n(fresh)} of them not yet after step ${n(baseline)}.`,
    used: 'in use',
    usedThen: (used: number, pool: number, before: number, baseline: number) =>
      `${n(used)} of ${blocks(pool)}; ${n(before)} after step ${n(baseline)}`,
    baseline: 'baseline',
    baselineTold: (step: number) => `after step ${n(step)}; mark A where another one is meant`,
    pins: 'pins',
    foreign: (pins: number) => `${plural(pins, 'pin')} of a foreign engine's: no leaks`,
    violation: 'violation',
    hows: {
      entry: 'table entries of requests that are not in the engine',
      pin: 'pins of copies that were launched',
      count: 'counts for which there is no entry and no pin',
    },
    entry: (position: number) => `entry ${n(position)} of {who}`,
    ofSequence: (sequence: number) => `sequence ${n(sequence)}`,
    old: 'at the baseline already',
    cut: (shown: number) => `only the first ${n(shown)} of them`,
  },
} as const;
