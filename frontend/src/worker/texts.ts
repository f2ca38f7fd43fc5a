/**
 * The text of a session: transcripts, contents and pieces, from what this page folds, and from the server where it did
 * not fold them.
 *
 *     records ──▶ transcripts, contents, pieces ◀── requests for what is looked at and not here
 *
 * Nothing is asked for twice at once, and what is not there yet is asked for again a little later, as long as somebody
 * looks at it.
 */

import type { AnyRecord } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import type { RequestMemory } from '../ledger/requests';
import { Interned } from './interned';
import { takePieces } from './pieces';
import type { Requests } from './source';
import { Transcripts } from './transcripts';

/** ms between two tries for one thing: the server's index follows what it records. */
const PAUSE = 700;
/** How often a content is asked for before it counts as not recorded, and a request before it counts as none. */
const TRIES = 5;
const CONTENTS_AT_ONCE = 200;

export class Texts {
  readonly pieces = new Map<number, string>();
  readonly contents: Interned;
  readonly transcripts: Transcripts;
  /** The requests that somebody looks at. */
  wanted: ReadonlySet<number> = new Set();
  /** Does somebody look at anything that has a text? */
  isRead = false;
  /** What was applied on the way to a place, in its order. */
  private readonly later: AnyRecord[] = [];
  /** All pieces that were told up to this record are here. */
  private piecesKnown = -1;
  /** When something may be asked for again; `Infinity`: it is on its way. */
  private readonly next = new Map<string, number>();
  private readonly missing = new Map<number, number>();
  /** How often a request was asked for that nothing here has told of. */
  private readonly unknown = new Map<number, number>();
  private readonly asked = new Set<number>();
  /** Of contents that no record here told: their parents, `NONE` for none. */
  private readonly parents = new Map<number, number>();
  private readonly parentTries = new Map<number, number>();

  constructor(
    /** Is text recorded in this session at all? */
    readonly recorded: boolean,
    blockSize: number,
    memory: RequestMemory,
    private readonly requests: Pick<Requests, 'pieces' | 'contents' | 'transcript'>,
    /** Something came, or may be asked for again. */
    private readonly changed: () => void,
    /** Do the records that this page folds tell the text? Where it asked for none, only the server does. */
    isTold = true,
  ) {
    this.contents = new Interned(blockSize);
    this.transcripts = new Transcripts(memory, (request) => this.wanted.has(request), undefined, isTold);
  }

  /**
   * A fold applied a record. `onTheWay`: to a place that is waited for. What stands in such records is noted once the view is
   * there ({@link catchUp}), or not at all should it be sent to another place before: unless somebody reads.
   */
  note(record: AnyRecord, onTheWay = false): void {
    if (!onTheWay || this.isRead) {
      this.catchUp();
      this.take(record);
      return;
    }
    if (record.type === 'keyframe') this.later.length = 0;
    this.later.push(record);
  }

  /** Note what was put off. */
  catchUp(): void {
    for (const record of this.later.splice(0)) this.take(record);
  }

  private take(record: AnyRecord): void {
    this.transcripts.note(record);
    if (record.type !== 'text') return;
    takePieces(this.pieces, record.pieces);
    this.contents.note(record);
  }

  /** Ask for what is missing of a request as of a record. True: it is all here. */
  want(request: number, record: number): boolean {
    if (!this.recorded) return true;
    this.wantPieces(record);
    if (this.transcripts.complete(request, record)) return true;
    this.ask(`request ${request}`, async () => {
      this.transcripts.merge(await this.requests.transcript(request));
    });
    return false;
  }

  /**
   * Ask for a request that nothing here has told of. Either it ended before this page came, or it has just been sent and
   * its submission is on its way, or it never was: so a moment later, and not for ever.
   */
  wantUnknown(request: number): void {
    if (!this.recorded) return;
    const tries = this.unknown.get(request);
    const what = `unknown request ${request}`;
    if (tries === undefined) {
      this.unknown.set(request, 0);
      this.pause(what);
    } else if (tries < TRIES) {
      this.ask(what, async () => {
        this.unknown.set(request, tries + 1);
        this.transcripts.merge(await this.requests.transcript(request));
      });
    }
  }

  /** Ask for the pieces that were told before this page looked. */
  wantPieces(record: number): void {
    if (!this.recorded || record <= this.piecesKnown) return;
    if (this.transcripts.saw(this.piecesKnown, record)) return;
    this.ask('pieces', async () => {
      const told = await this.requests.pieces();
      for (const [token, piece] of Object.entries(told.pieces)) this.pieces.set(Number(token), piece);
      this.piecesKnown = Math.max(this.piecesKnown, told.indexed_record ?? -1);
    });
  }

  /** The tokens of a content; undefined: they are asked for; null: they are not recorded. */
  content(content: number): Uint32Array | undefined | null {
    if (!this.recorded) return null;
    const found = this.contents.get(content);
    if (found !== undefined) return found;
    if ((this.missing.get(content) ?? 0) >= TRIES) return null;
    this.asked.add(content);
    this.ask('contents', () => this.fetchContents());
    return undefined;
  }

  /** The parent of a content that no record here told (`NONE`: it has none); null: it is asked for, or not recorded. */
  parent(content: number): number | null {
    const found = this.parents.get(content);
    if (found !== undefined) return found;
    const tries = this.parentTries.get(content) ?? 0;
    if (tries < TRIES) {
      this.ask(`parent of ${content}`, async () => {
        this.parentTries.set(content, tries + 1);
        for (const told of await this.requests.contents([content]))
          if (told.parent !== undefined) this.parents.set(told.content, told.parent ?? NONE);
      });
    }
    return null;
  }

  /** True: all that was asked for came, and more may be asked for at once. */
  private async fetchContents(): Promise<boolean> {
    // Those that were asked for last: what was looked at before is not looked at any more, or is asked for again.
    const wanted = [...this.asked].slice(-CONTENTS_AT_ONCE);
    this.asked.clear();
    for (const { content, tokens } of await this.requests.contents(wanted)) {
      if (tokens !== null) this.contents.set(content, Uint32Array.from(tokens));
    }
    let lacking = 0;
    for (const content of wanted) {
      if (this.contents.get(content) !== undefined) continue;
      this.missing.set(content, (this.missing.get(content) ?? 0) + 1);
      lacking++;
    }
    return lacking === 0;
  }

  private ask(what: string, fetch: () => Promise<unknown>): void {
    const now = performance.now();
    if ((this.next.get(what) ?? 0) > now) return;
    this.next.set(what, Number.POSITIVE_INFINITY);
    Promise.resolve()
      // What is asked for at once is fetched at once.
      .then(fetch)
      // A request that the server does not know yet is one that has just come; what fails otherwise fails again.
      .catch(() => {})
      .then((isAll) => {
        if (isAll === true) this.next.delete(what);
        else this.pause(what);
        this.changed();
      });
  }

  /** Not now: whoever looks asks again then. */
  private pause(what: string): void {
    this.next.set(what, performance.now() + PAUSE);
    setTimeout(this.changed, PAUSE);
  }
}
