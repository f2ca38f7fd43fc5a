/** The way to the server: a websocket for what happens now, requests for what happened before. */

import { unpackFrames } from '../ledger/frame';
import type { RequestMemory } from '../ledger/requests';
import type { RequestTold } from './careers';
import { type EventPage, type EventQuery, readPage, type ToldPage } from './eventPage';
import type { ToldLandmarks } from './landmarks';
import type { LanesQuery } from './lanes';
import type { StepColumns } from './series';
import type { ToldLanes } from './stretches';
import type { Told } from './told';
import type { ToldCareers } from './wideLanes';

export class ServerError extends Error {
  override name = 'ServerError';
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export interface SessionFacts {
  readonly state: 'live' | 'ended' | 'interrupted';
  readonly last_step: number | null;
  readonly last_record: number | null;
}

/** A content as it is recorded. */
export interface RecordedContent {
  readonly content: number;
  /** null: it is the first of a prompt; left out where it is not known. */
  readonly parent?: number | null;
  /** null: text is not recorded. */
  readonly tokens: number[] | null;
}

/** What a page asks for of a live session. */
export interface Wish {
  readonly text: boolean;
  /** At most so many bursts a second; null: all as it comes. */
  readonly rate: number | null;
}

/** What can be asked of one session, wherever its records are. Throws a {@link ServerError} for what can't be had. */
export interface Requests {
  /** The engine's Hello, its bytes. */
  hello(): Promise<Uint8Array>;
  /** What is known of the session now. */
  about(): Promise<SessionFacts>;
  steps(): Promise<StepColumns>;
  /**
   * A keyframe before the step, which need not tell contents, then every frame through it and about `ahead` bytes more. With
   * `since`, a record whose keyframe's blocks are here, it may tell of the blocks only what changed since.
   */
  seek(step: number, since: number | null, signal: AbortSignal, ahead?: number): Promise<Uint8Array[]>;
  /** A keyframe before the step that tells what the contents of its blocks follow, then every frame through the step. */
  lineage(step: number): Promise<Uint8Array[]>;
  /** Frames of the records after `after`, at least one if there is any, until they have `limit` bytes. */
  frames(after: number, limit?: number): Promise<Uint8Array[]>;
  /** The vocabulary as far as it was told, of all records up to `indexed_record`. */
  pieces(): Promise<{ pieces: Record<string, string>; indexed_record: number | null }>;
  /** Where something happened, of some kinds, by step, up to `indexed_record`. */
  landmarks(kinds: readonly string[]): Promise<ToldLandmarks>;
  /** What each request did in the steps `first` to `last`, as many as were read in time. */
  lanes(first: number, last: number): Promise<ToldLanes>;
  /** When requests of many steps came, were admitted and ended, as many as are asked for. */
  careers(query: LanesQuery): Promise<ToldCareers>;
  /** A row a request, in the order of submission, as far as the index goes; of what a page holds itself it is told nothing. */
  requests(): Promise<readonly RequestTold[]>;
  /** Events that meet a filter, from a place on, as many as were found in time. `memory` knows how sequences are called. */
  events(query: EventQuery, memory: RequestMemory): Promise<EventPage>;
  /** Contents; one that is not recorded is left out. */
  contents(ids: readonly number[]): Promise<RecordedContent[]>;
  /** What a request's sequences said, up to the last record that is there. */
  transcript(request: number): Promise<Told>;
  /** Where a websocket tells what happens after a record; of that, what is asked for. */
  liveUrl(after: number | null, wish: Wish): string;
}

/** Asks a server. `api` is the address of the API, with a slash at its end. */
export class ServerRequests implements Requests {
  private readonly base: string;

  constructor(api: string, session: string) {
    this.base = new URL(`sessions/${encodeURIComponent(session)}/`, api).href;
  }

  private async get(path: string, signal?: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(
        path === '' ? this.base.slice(0, -1) : this.base + path,
        signal === undefined ? {} : { signal },
      );
    } catch (error) {
      if ((error as Error).name === 'AbortError') throw error;
      throw new ServerError('the server does not answer', 0);
    }
    if (response.ok) return response;
    // A null or a list is JSON too, and has no detail.
    const body = (await response.json().catch(() => null)) as { detail?: unknown } | null;
    const detail = typeof body?.detail === 'string' ? body.detail : response.statusText;
    throw new ServerError(detail || `status ${response.status}`, response.status);
  }

  private async bytes(path: string, signal?: AbortSignal): Promise<Uint8Array> {
    return new Uint8Array(await (await this.get(path, signal)).arrayBuffer());
  }

  /** An object; where `list` is named, one with that list. */
  private async json(path: string, list?: string): Promise<unknown> {
    const said = await (await this.get(path)).text();
    let told: unknown = null;
    try {
      told = JSON.parse(said);
    } catch {
      // It is no JSON, which is no object either.
    }
    const isRight = typeof told === 'object' && told !== null && !Array.isArray(told);
    if (isRight && (list === undefined || Array.isArray((told as Record<string, unknown>)[list])))
      return told;
    throw new ServerError(`the server answered what this page can't read: ${said.trim().slice(0, 80)}`, 0);
  }

  hello(): Promise<Uint8Array> {
    return this.bytes('hello');
  }

  async about(): Promise<SessionFacts> {
    return (await this.json('')) as SessionFacts;
  }

  async steps(): Promise<StepColumns> {
    return (await this.json('steps')) as StepColumns;
  }

  async seek(
    step: number,
    since: number | null,
    signal: AbortSignal,
    ahead = 256 << 10,
  ): Promise<Uint8Array[]> {
    const known = since === null ? '' : `&since=${since}`;
    // A third of a large pool's keyframe are the parents of contents: the inspector asks for one, the prefix tree for all.
    const query = `seek?step=${step}&ahead_bytes=${ahead}&contents=none${known}`;
    return unpackFrames(await this.bytes(query, signal));
  }

  async lineage(step: number): Promise<Uint8Array[]> {
    return unpackFrames(await this.bytes(`seek?step=${step}&ahead_bytes=0`));
  }

  async frames(after: number, limit = 1 << 20): Promise<Uint8Array[]> {
    return unpackFrames(await this.bytes(`frames?after=${after}&limit_bytes=${limit}`));
  }

  async pieces(): Promise<{ pieces: Record<string, string>; indexed_record: number | null }> {
    return (await this.json('pieces')) as never;
  }

  async landmarks(kinds: readonly string[]): Promise<ToldLandmarks> {
    const query = kinds.map((kind) => `kind=${kind}`).join('&');
    return (await this.json(`landmarks?${query}`)) as ToldLandmarks;
  }

  async lanes(first: number, last: number): Promise<ToldLanes> {
    return (await this.json(`lanes?first=${first}&last=${last}`)) as ToldLanes;
  }

  async careers({ from, to, count, at, offset, selected }: LanesQuery): Promise<ToldCareers> {
    const asked = new URLSearchParams({
      first: String(from),
      last: String(to - 1),
      at: String(at),
      offset: String(offset),
      limit: String(count),
    });
    if (selected !== null) asked.set('request', String(selected));
    return (await this.json(`careers?${asked}`)) as ToldCareers;
  }

  async requests(): Promise<readonly RequestTold[]> {
    return ((await this.json('requests', 'requests')) as { requests: RequestTold[] }).requests;
  }

  async events(query: EventQuery, memory: RequestMemory): Promise<EventPage> {
    const { filter, from, direction, limit } = query;
    const asked = new URLSearchParams({
      filter,
      from: String(from.record),
      index: String(from.index),
      direction,
      limit: String(limit),
    });
    return readPage((await this.json(`events?${asked}`, 'rows')) as ToldPage, memory);
  }

  async contents(ids: readonly number[]): Promise<RecordedContent[]> {
    const query = ids.map((id) => `content=${id}`).join('&');
    return ((await this.json(`contents?${query}`, 'contents')) as { contents: never[] }).contents;
  }

  async transcript(request: number): Promise<Told> {
    return (await this.json(`requests/${request}/tokens`)) as Told;
  }

  liveUrl(after: number | null, wish: Wish): string {
    const url = new URL('live', this.base);
    if (after !== null) url.searchParams.set('after', String(after));
    if (!wish.text) url.searchParams.set('text', 'none');
    if (wish.rate !== null) url.searchParams.set('rate', String(wish.rate));
    url.protocol = url.protocol.replace('http', 'ws');
    return url.href;
  }
}

/** The server closes with this code when the session is not live (any more). */
const NOT_LIVE = 4404;
const FIRST_DELAY = 500;
const LAST_DELAY = 8000;

export interface LiveHandlers {
  /** The last record that is there, to go on from; null: begin with a keyframe. */
  after(): number | null;
  frame(bytes: Uint8Array): void;
  open(): void;
  /** Lost; it is tried again by itself. */
  lost(): void;
  /** The session is not live. */
  ended(): void;
}

/** A websocket that reconnects, with growing pauses. */
export class Live {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private delay = FIRST_DELAY;
  private closed = false;

  constructor(
    private readonly requests: Requests,
    private readonly wish: Wish,
    private readonly handlers: LiveHandlers,
  ) {
    this.connect();
  }

  private connect(): void {
    this.timer = null;
    if (this.closed) return;
    const socket = new WebSocket(this.requests.liveUrl(this.handlers.after(), this.wish));
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => this.handlers.open();
    socket.onmessage = (event: MessageEvent<ArrayBuffer | string>) => {
      if (this.socket !== socket || typeof event.data === 'string') return;
      this.delay = FIRST_DELAY;
      this.handlers.frame(new Uint8Array(event.data));
    };
    socket.onclose = (event) => {
      if (this.socket !== socket || this.closed) return;
      this.socket = null;
      if (event.code === NOT_LIVE) {
        this.closed = true;
        this.handlers.ended();
        return;
      }
      this.handlers.lost();
      this.timer = setTimeout(() => this.connect(), this.delay);
      this.delay = Math.min(LAST_DELAY, this.delay * 2);
    };
  }

  /** Connect anew, now: after a fault, or because the reader asks. */
  restart(): void {
    if (this.closed) return;
    if (this.timer !== null) clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.connect();
  }

  close(): void {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.socket?.close();
    this.socket = null;
  }
}
