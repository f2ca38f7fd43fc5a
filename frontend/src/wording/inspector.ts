/** What the inspector says of a block, a sequence, a request or the session. */

import { integer } from '../format';
import { plural } from './plural';
import { stop } from './stop';

const n = integer;

export const inspector = {
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
  rank: (rank: number, of: number) => (rank === 0 ? `next to go, of ${n(of)}` : `${n(rank + 1)} of ${n(of)}`),
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
} as const;
