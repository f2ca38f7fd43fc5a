/**
 * The recording that a page holds, in place of a server: what `kvarium export --format html` wrote into it.
 *
 *     index        JSON: which records, steps, contents and requests are in which part
 *     steps-0 …    JSON: columns, so many steps each
 *     frames-0 …   records as the engine wrote them, each frame with its length before it
 *     keyframe-0 … states from which a seek begins, a frame each
 *     pieces       JSON: the vocabulary as far as the session told it
 *     careers      JSON: columns, when each request came, was admitted and ended
 *     answers      JSON: what was derived of the recording, by the links of the questions: the page itself opens it
 *     before       JSON: what was said before a part's first step, where only a part of a session was exported
 *
 * A part is zlib's bytes in base64. It is opened when somebody looks at it, and a few are kept open.
 */

import { Contents } from '../ledger/contents';
import { type AnyRecord, isRecord } from '../ledger/fold';
import { openFrame, unpackFrames } from '../ledger/frame';
import { NONE } from '../ledger/generated/constants';
import type { Hello } from '../ledger/generated/types';
import { peekFrame } from '../ledger/peek';
import type { RequestMemory } from '../ledger/requests';
import type { RequestTold } from './careers';
import { EmbeddedEvents } from './embeddedEvents';
import type { EventPage, EventQuery } from './eventPage';
import { Interned } from './interned';
import type { Landmark, ToldLandmarks } from './landmarks';
import type { LanesQuery } from './lanes';
import type { StepColumns } from './series';
import { type RecordedContent, type Requests, ServerError, type SessionFacts } from './source';
import { LaneWalk, type ToldLanes } from './stretches';
import { type FrameOf, readTold } from './telling';
import type { Told } from './told';
import { fromBase64, unpacked } from './unpacked';
import { type Career, careersIn, type ToldCareers } from './wideLanes';

/** Its parts by their names. A blob is kept by the browser, where need be on disk, and given to a worker without a copy. */
export type EmbeddedRecording = ReadonlyMap<string, Blob>;

interface Index {
  readonly hello: string;
  readonly block_size: number;
  readonly state: 'ended' | 'interrupted';
  readonly last_step: number | null;
  readonly last_record: number | null;
  /** The parts `frames-N`: their first and last records. */
  readonly frames: { readonly first: readonly number[]; readonly last: readonly number[] };
  /** The parts `keyframe-N`: the last record that each holds. */
  readonly keyframes: readonly number[];
  /** How many parts `steps-N` there are. */
  readonly steps: number;
  /** Contents `first` to `last` are told by records `first_record` to `last_record`, and the text behind them. */
  readonly contents: Readonly<Record<'first' | 'last' | 'first_record' | 'last_record', readonly number[]>>;
  /** The record that tells of a request first. */
  readonly requests: { readonly request: readonly number[]; readonly record: readonly number[] };
  readonly landmarks: readonly (Omit<Landmark, 'kind'> & { readonly kind: string })[];
}

interface Before {
  readonly transcripts: readonly Told[];
  readonly contents: readonly { readonly content: number; readonly tokens: readonly number[] }[];
}

/** Columns, a value a request. */
type Careers = { readonly [Name in keyof Career]: readonly Career[Name][] };

/** So many bytes of frames are kept open. */
const MOST_OPEN = 48 << 20;
/** What a seek brings behind its step, in bytes. */
const AHEAD = 256 << 10;

/** The last place of an ascending list whose value is at most `value`; -1: there is none. */
function lastAtMost(list: readonly number[], value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export class EmbeddedRequests implements Requests {
  private index: Promise<Index> | null = null;
  private table: Promise<StepColumns> | null = null;
  private before: Promise<Before> | null = null;
  private all: Promise<readonly Career[]> | null = null;
  private search: EmbeddedEvents | null = null;
  /** Open parts with frames, the one that was used last at the end. */
  private readonly open = new Map<number, Promise<readonly Uint8Array[]>>();
  private readonly sizes = new Map<number, number>();

  constructor(private readonly parts: EmbeddedRecording) {}

  // -- parts --------------------------------------------------------------------------------------------------------

  private async part(name: string): Promise<Uint8Array> {
    const blob = this.parts.get(name);
    if (blob === undefined) throw new ServerError(`the page lacks its part ${name}: its file is cut off`, 0);
    try {
      return await unpacked(blob);
    } catch (error) {
      throw new ServerError(`the page’s part ${name} is damaged: ${(error as Error).message}`, 0);
    }
  }

  private async json<T>(name: string): Promise<T> {
    return JSON.parse(new TextDecoder().decode(await this.part(name))) as T;
  }

  private theIndex(): Promise<Index> {
    this.index ??= this.json<Index>('index');
    return this.index;
  }

  private whatWasBefore(): Promise<Before> {
    this.before ??= this.parts.has('before')
      ? this.json<Before>('before')
      : Promise.resolve({ transcripts: [], contents: [] });
    return this.before;
  }

  private async framesOf(number: number): Promise<readonly Uint8Array[]> {
    const found =
      this.open.get(number) ??
      this.part(`frames-${number}`).then((data) => {
        this.sizes.set(number, data.length);
        return unpackFrames(data);
      });
    this.open.delete(number);
    this.open.set(number, found);
    const frames = await found;
    let size = 0;
    for (const each of [...this.open.keys()].reverse()) {
      size += this.sizes.get(each) ?? 0;
      if (size > MOST_OPEN && each !== number) this.open.delete(each);
    }
    return frames;
  }

  /** The frames of the records after `after`, with the number of each. */
  private async *after(after: number): AsyncGenerator<FrameOf> {
    const { frames } = await this.theIndex();
    const begin = Math.max(0, lastAtMost(frames.first, after));
    for (let part = begin; part < frames.first.length; part++) {
      if (frames.last[part]! <= after) continue;
      for (const bytes of await this.framesOf(part)) {
        const { type, record, step } = peekFrame(bytes);
        if (record !== null && record > after) yield { type, record, step, bytes };
      }
    }
  }

  // -- answers ------------------------------------------------------------------------------------------------------

  async hello(): Promise<Uint8Array> {
    return fromBase64((await this.theIndex()).hello);
  }

  async about(): Promise<SessionFacts> {
    return await this.theIndex();
  }

  steps(): Promise<StepColumns> {
    this.table ??= this.theIndex().then(async ({ steps }) => {
      const whole: StepColumns = { step: [] };
      for (let i = 0; i < steps; i++) {
        const columns = Object.entries(await this.json<Record<string, number[]>>(`steps-${i}`));
        for (const [name, values] of columns as [keyof StepColumns, number[]][]) {
          whole[name] ??= [];
          for (const value of values) whole[name]!.push(value);
        }
      }
      return whole;
    });
    return this.table;
  }

  private async recordOf(step: number): Promise<number> {
    const columns = await this.steps();
    const at = lastAtMost(columns.step, step);
    const record = columns.step[at] === step ? columns.record?.[at] : undefined;
    if (record !== undefined) return record;
    const [first, last] = [columns.step[0], columns.step.at(-1)];
    const held = first === undefined ? 'holds no step' : `holds steps ${first} to ${last}`;
    throw new ServerError(`step ${step} is not in this page, which ${held}`, 404);
  }

  async seek(step: number, _since: number | null, signal: AbortSignal): Promise<Uint8Array[]> {
    const record = await this.recordOf(step);
    const { keyframes } = await this.theIndex();
    // The one before it; at the very start its own.
    const place = Math.max(0, lastAtMost(keyframes, record - 1));
    const frames = [await this.part(`keyframe-${place}`)];
    let previous = keyframes[place]!;
    let ahead = 0;
    for await (const frame of this.after(previous)) {
      signal.throwIfAborted();
      const isWanted = frame.record <= record || (frame.type === 'text' && frame.step === step);
      if (frame.record !== previous + 1 && frame.type !== 'gap') {
        if (previous >= record) break;
        const lost = `records ${previous + 1} to ${frame.record - 1} were not stored`;
        throw new ServerError(`record ${record} can’t be reached: ${lost}`, 404);
      }
      previous = frame.record;
      if (!isWanted) {
        if (ahead >= AHEAD) break;
        ahead += frame.bytes.length;
      }
      frames.push(frame.bytes);
    }
    return frames;
  }

  /** Every keyframe in a page tells it already. */
  async lineage(): Promise<Uint8Array[]> {
    return [];
  }

  async frames(after: number, limit = 1 << 20): Promise<Uint8Array[]> {
    const found: Uint8Array[] = [];
    let size = 0;
    for await (const { bytes } of this.after(after)) {
      found.push(bytes);
      size += bytes.length;
      if (size >= limit) break;
    }
    return found;
  }

  async pieces(): Promise<{ pieces: Record<string, string>; indexed_record: number | null }> {
    const { last_record } = await this.theIndex();
    return { pieces: await this.json('pieces'), indexed_record: last_record };
  }

  async landmarks(kinds: readonly string[]): Promise<ToldLandmarks> {
    const { landmarks, last_record } = await this.theIndex();
    return {
      landmarks: landmarks.filter(({ kind }) => kinds.includes(kind)) as Landmark[],
      indexed_record: last_record,
    };
  }

  async lanes(first: number, last: number): Promise<ToldLanes> {
    const columns = await this.steps();
    const { keyframes } = await this.theIndex();
    // The step itself may be lost.
    const record = columns.record?.[lastAtMost(columns.step, first)] ?? 0;
    const place = Math.max(0, lastAtMost(keyframes, record - 1));
    const walk = new LaneWalk(first, last);
    walk.follow(openFrame(await this.part(`keyframe-${place}`)) as AnyRecord);
    for await (const { type, step, bytes } of this.after(keyframes[place]!)) {
      if (type === 'step' && step !== null && step > last) {
        walk.through = last;
        break;
      }
      const opened = type === 'text' ? null : openFrame(bytes);
      if (opened !== null && isRecord(opened)) walk.follow(opened);
    }
    return walk.told();
  }

  async careers(query: LanesQuery): Promise<ToldCareers> {
    this.all ??= this.json<Careers>('careers').then((columns) =>
      columns.request.map(
        (_, row) =>
          Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[row]])) as never,
      ),
    );
    const { last_step } = await this.theIndex();
    return careersIn(await this.all, query, last_step);
  }

  async requests(): Promise<readonly RequestTold[]> {
    return [];
  }

  async events(query: EventQuery, memory: RequestMemory): Promise<EventPage> {
    const { frames } = await this.theIndex();
    this.search ??= new EmbeddedEvents({
      ...frames,
      open: (part) => this.framesOf(part),
      hello: async () => openFrame(await this.hello()) as Hello,
    });
    return this.search.page(query, memory);
  }

  async contents(ids: readonly number[]): Promise<RecordedContent[]> {
    const { contents, block_size } = await this.theIndex();
    const interned = new Interned(block_size);
    const parents = new Contents();
    for (const { content, tokens } of (await this.whatWasBefore()).contents)
      if (ids.includes(content)) interned.set(content, Uint32Array.from(tokens));
    const wanted = new Set<number>();
    for (const id of ids) {
      const place = lastAtMost(contents.first, id);
      if (place >= 0 && id <= contents.last[place]! && interned.get(id) === undefined) wanted.add(place);
    }
    for (const place of wanted) {
      for await (const { type, record, bytes } of this.after(contents.first_record[place]! - 1)) {
        // A step's text is the record behind it.
        if (record > contents.last_record[place]! + 1) break;
        const opened = type === 'text' || type === 'step' ? openFrame(bytes) : null;
        if (opened?.type === 'text') interned.note(opened);
        else if (opened?.type === 'step') parents.add(opened.contents);
      }
    }
    return ids.flatMap((content) => {
      const tokens = interned.get(content);
      const parent = parents.parent(content);
      if (tokens === undefined && parent === undefined) return [];
      return {
        content,
        tokens: tokens === undefined ? null : Array.from(tokens),
        // Left out where it is not known.
        ...(parent === undefined ? {} : { parent: parent === NONE ? null : parent }),
      };
    });
  }

  async transcript(request: number): Promise<Told> {
    const { requests, frames } = await this.theIndex();
    const known = (await this.whatWasBefore()).transcripts.find((each) => each.request === request) ?? null;
    const place = lastAtMost(requests.request, request);
    const told = requests.request[place] === request ? requests.record[place]! : null;
    const begin = known === null ? told : (frames.first[0] ?? null);
    if (begin === null) throw new ServerError(`there is no request ${request} in this page`, 404);
    // The command that submitted it was answered after the step before.
    const steps = (await this.steps()).record ?? [];
    const before = known === null ? steps[lastAtMost(steps, begin - 1)] : undefined;
    return readTold(request, known, this.after(before ?? begin - 1), frames.last.at(-1) ?? begin);
  }

  liveUrl(): string {
    throw new ServerError('a page that holds its recording follows nothing live', 0);
  }
}
