/** Looks through the frames that a page holds for the events that meet a filter, where there is no server to ask. */

import type { Filter } from '../filter/filter';
import { type Known, matcher, tellsGap } from '../filter/match';
import { readFilter } from '../filter/read';
import { openFrame } from '../ledger/frame';
import type { Hello, Step } from '../ledger/generated/types';
import { peekFrame } from '../ledger/peek';
import type { RequestMemory } from '../ledger/requests';
import { type EventRow, lostRow, rowsOf } from './answers/events';
import { ContentHashes } from './contentHashes';
import { comparePlaces, type EventPage, type EventPlace, type EventQuery } from './eventPage';
import { ServerError } from './source';

/** ms after which a page is told with what was found. */
const MOST_MS = 250;
/** A query's times are of the session. */
const ORIGIN = { startUtcUs: 0, zone: 0 };

/** The parts that hold frames: their first and last records, and how one is opened. */
export interface Parts {
  readonly first: readonly number[];
  readonly last: readonly number[];
  open(part: number): Promise<readonly Uint8Array[]>;
  hello(): Promise<Pick<Hello, 'config' | 'block_size' | 'record_text'>>;
}

export class EmbeddedEvents {
  private owners: Promise<Omit<Known, 'hash'>> | null = null;
  private hashes: Promise<ContentHashes> | null = null;

  constructor(private readonly parts: Parts) {}

  /** Whose every sequence is: read once, from beginning to end. */
  private async learn(memory: RequestMemory): Promise<Omit<Known, 'hash'>> {
    const sequences = new Map<number, { request: number; index: number }>();
    const names = new Map<number, string>();
    for (let part = 0; part < this.parts.first.length; part++) {
      for (const bytes of await this.parts.open(part)) {
        if (peekFrame(bytes).type !== 'step') continue;
        for (const decision of (openFrame(bytes) as Step).decisions ?? []) {
          if (decision.kind === 'submitted') names.set(decision.request, decision.name);
          if (decision.kind === 'sequence_created') sequences.set(decision.sequence, decision);
        }
      }
    }
    return {
      sequence: (sequence) => sequences.get(sequence) ?? memory.sequences.get(sequence),
      name: (request) => names.get(request) ?? memory.facts.get(request)?.name,
    };
  }

  /** What every content's hash is: computed once, from beginning to end. */
  private async learnHashes(): Promise<ContentHashes> {
    const hello = await this.parts.hello();
    if ((hello.record_text ?? 'full') !== 'full')
      throw new ServerError('no hash can be looked for: the text of this session is not recorded', 422);
    const found = await ContentHashes.of(hello);
    let held: Step | null = null;
    for (let part = 0; part < this.parts.first.length; part++) {
      for (const bytes of await this.parts.open(part)) {
        const { type } = peekFrame(bytes);
        const opened = type === 'step' || type === 'text' ? openFrame(bytes) : null;
        if (opened?.type === 'text' && opened.step === held?.step && held.contents !== undefined)
          await found.learn(held.contents, opened);
        held = opened?.type === 'step' ? opened : null;
        if (held?.contents !== undefined) found.note(held.contents);
      }
    }
    return found;
  }

  async page(query: EventQuery, memory: RequestMemory): Promise<EventPage> {
    const read = readFilter(query.filter);
    if ('fault' in read) throw new ServerError(`the filter “${query.filter}” can’t be read`, 422);
    this.owners ??= this.learn(memory);
    const { filter } = read;
    let hashes: ContentHashes | null = null;
    if (filter.some(({ field }) => field === 'hash')) {
      this.hashes ??= this.learnHashes();
      hashes = await this.hashes;
    }
    const known = { ...(await this.owners), hash: (content: number) => hashes?.get(content) };
    const { from, direction, limit } = query;
    const isLater = direction === 'later';
    const isWanted = matcher(filter, known, ORIGIN);
    const { first, last } = this.parts;
    const order = first.map((_, part) => part);
    if (!isLater) order.reverse();
    const until = performance.now() + MOST_MS;
    const found: EventRow[] = [];
    for (const part of order) {
      if (isLater ? last[part]! < from.record : first[part]! > from.record) continue;
      const frames = await this.parts.open(part);
      for (const bytes of isLater ? frames : [...frames].reverse()) {
        const rows = rowsOfFrame(bytes, filter, isWanted, memory).filter(
          (row) => comparePlaces(row, from) >= 0 === isLater,
        );
        found.push(...(isLater ? rows : rows.reverse()));
        if (found.length < limit && performance.now() < until) continue;
        const { record } = peekFrame(bytes);
        return told(found, limit, isLater, { record: (record ?? 0) + (isLater ? 1 : 0), index: 0 });
      }
    }
    return told(found, limit, isLater, null);
  }
}

function told(found: EventRow[], limit: number, isLater: boolean, edge: EventPlace | null): EventPage {
  const rows = found.slice(0, limit);
  const end = rows.at(-1);
  const isCut = end !== undefined && rows.length === limit;
  const next = !isCut ? edge : isLater ? { record: end.record, index: end.index + 1 } : end;
  return { rows: isLater ? rows : rows.reverse(), next };
}

function rowsOfFrame(
  bytes: Uint8Array,
  filter: Filter,
  isWanted: Parameters<typeof rowsOf>[1],
  memory: RequestMemory,
): EventRow[] {
  const { type } = peekFrame(bytes);
  if (type !== 'step' && type !== 'gap') return [];
  const opened = openFrame(bytes);
  if (opened.type === 'step') return rowsOf(opened, isWanted, memory);
  if (opened.type !== 'gap' || !tellsGap(filter, opened.record, opened.time, ORIGIN)) return [];
  return [lostRow(opened)];
}
