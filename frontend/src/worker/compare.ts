/**
 * What differs between the states of two steps: of the blocks by kind, and by the requests that hold them.
 *
 *     step A   ─ seek, fold ─▶  columns, holders ─┐
 *     step B   ─ seek, fold ─▶  columns, holders ─┴▶ allocated, freed, cached, evicted; gained and lost by request
 *
 * A block is meant in one life of its: one that was freed and allocated anew between the two was both lost and gained. States,
 * not what happened between them: what came and went again does not show.
 */

import { type AnyRecord, Fold, isRecord } from '../ledger/fold';
import { openFrame } from '../ledger/frame';
import { NONE } from '../ledger/generated/constants';
import { type Requests, ServerError } from './source';

export const CHANGED = ['allocated', 'freed', 'cached', 'evicted'] as const;
export type Changed = (typeof CHANGED)[number];

/** Requests that are listed; the others are counted. */
const MOST_LISTED = 200;

export interface RequestDifference {
  readonly request: number;
  readonly name: string | null;
  readonly gained: number;
  readonly lost: number;
  /** The lowest of its blocks that it gained or lost. */
  readonly block: number;
}

export interface Comparison {
  readonly from: number;
  readonly to: number;
  /** How many blocks, and the lowest of them; null: there is none. */
  readonly blocks: Readonly<Record<Changed, { readonly count: number; readonly first: number | null }>>;
  /** Those that gained or lost most first. */
  readonly requests: readonly RequestDifference[];
  /** Requests that gained or lost blocks and are not listed. */
  readonly others: number;
  /** Did both states equal their digests? */
  readonly isVerified: boolean;
}

/** What is compared of a state. */
export interface HeldState {
  readonly generation: Uint32Array;
  readonly count: Uint32Array;
  readonly content: Uint32Array;
  /** By request: its blocks, each once. */
  readonly holders: ReadonlyMap<number, ReadonlySet<number>>;
  readonly names: ReadonlyMap<number, string>;
}

export function heldState(fold: Fold): HeldState {
  const { blocks, tables, requests } = fold;
  const holders = new Map<number, Set<number>>();
  for (const { sequence, blocks: held, end } of tables.map.values()) {
    const request = requests.memory.requestOf(sequence);
    if (request < 0) continue;
    let own = holders.get(request);
    if (own === undefined) {
      own = new Set();
      holders.set(request, own);
    }
    for (let position = 0; position < end; position++) if (held[position] !== NONE) own.add(held[position]!);
  }
  const names = new Map([...holders.keys()].map((each) => [each, requests.facts.get(each)?.name ?? '']));
  return {
    generation: blocks.generation.slice(),
    count: blocks.count.slice(),
    content: blocks.content.slice(),
    holders,
    names,
  };
}

export function compareStates(
  a: HeldState,
  b: HeldState,
): Pick<Comparison, 'blocks' | 'requests' | 'others'> {
  const counts: Record<Changed, number> = { allocated: 0, freed: 0, cached: 0, evicted: 0 };
  const first: Record<Changed, number | null> = { allocated: null, freed: null, cached: null, evicted: null };
  const note = (kind: Changed, block: number): void => {
    counts[kind]++;
    first[kind] ??= block;
  };
  for (let block = 0; block < a.count.length; block++) {
    const isOther = a.generation[block] !== b.generation[block];
    const [inUse, isInUse] = [a.count[block]! > 0, b.count[block]! > 0];
    if (isInUse && (!inUse || isOther)) note('allocated', block);
    if (inUse && (!isInUse || isOther)) note('freed', block);
    const [had, has] = [a.content[block]!, b.content[block]!];
    if (had === has && !isOther) continue;
    if (has !== NONE) note('cached', block);
    if (had !== NONE) note('evicted', block);
  }
  const found: RequestDifference[] = [];
  const nobody: ReadonlySet<number> = new Set();
  for (const request of new Set([...a.holders.keys(), ...b.holders.keys()])) {
    const [had, has] = [a.holders.get(request) ?? nobody, b.holders.get(request) ?? nobody];
    const isSame = (block: number): boolean => a.generation[block] === b.generation[block];
    const gained = [...has].filter((block) => !(had.has(block) && isSame(block)));
    const lost = [...had].filter((block) => !(has.has(block) && isSame(block)));
    if (gained.length + lost.length === 0) continue;
    const name = (b.names.get(request) ?? a.names.get(request)) || null;
    const block = [...gained, ...lost].reduce((least, each) => Math.min(least, each));
    found.push({ request, name, gained: gained.length, lost: lost.length, block });
  }
  found.sort((x, y) => y.gained + y.lost - x.gained - x.lost || x.request - y.request);
  const blocks = Object.fromEntries(
    CHANGED.map((kind) => [kind, { count: counts[kind], first: first[kind] }]),
  ) as Comparison['blocks'];
  const others = Math.max(0, found.length - MOST_LISTED);
  return { blocks, requests: found.slice(0, MOST_LISTED), others };
}

/** Bring a fold to a step, from a keyframe. */
async function foldTo(fold: Fold, step: number, requests: Pick<Requests, 'seek'>): Promise<void> {
  fold.loaded = false;
  for (const frame of await requests.seek(step, null, new AbortController().signal, 0)) {
    if (fold.loaded && fold.step >= step) break;
    const record = openFrame(frame);
    if (isRecord(record)) fold.apply(record as AnyRecord);
  }
  if (fold.step !== step) throw new ServerError(`the server sent no step ${step}`, 0);
}

/** Compare the states after two steps. Throws a {@link ServerError} where one can't be had. */
export async function compareSteps(
  from: number,
  to: number,
  { num_blocks, block_size }: { readonly num_blocks: number; readonly block_size: number },
  requests: Pick<Requests, 'seek'>,
): Promise<Comparison> {
  const fold = new Fold(num_blocks, block_size);
  await foldTo(fold, from, requests);
  const a = heldState(fold);
  const isVerified = fold.verified;
  await foldTo(fold, to, requests);
  return { from, to, ...compareStates(a, heldState(fold)), isVerified: isVerified && fold.verified };
}
