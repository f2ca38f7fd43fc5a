/** Makes the view that the page sees of a session: always whole, map and panels of one step. */

import { ANY, type Filter, type Term } from '../filter/filter';
import { printFilter } from '../filter/print';
import { plainState } from '../ledger/plain';
import type { EventList } from './answers/events';
import { blockAnswer, blocksOf } from './answers/inspect';
import { queueAnswer } from './answers/queue';
import { type RequestAnswer, requestAnswer } from './answers/request';
import { runsAnswer } from './answers/runs';
import { Sayings } from './answers/said';
import { schedulerAnswer } from './answers/scheduler';
import { tablesAnswer } from './answers/tables';
import { treeAnswer } from './answers/tree';
import { findEvent } from './find';
import type { Landmark } from './landmarks';
import { Lineage } from './lineage';
import { Listing } from './listing';
import { MapView } from './mapView';
import { movesAt } from './moves';
import { changesAt, copiesAt, toldBy } from './operation';
import { positionOf } from './position';
import type { View, Wants } from './protocol';
import { RectangleCount } from './rectangle';
import { Scan } from './scan';
import type { Session } from './session';
import { Timeline } from './timeline';
import { plainTree } from './tree/plain';
import { Tree } from './tree/tree';

/** ms between two views while the state changes by itself: calm to read, and cheap. */
const INTERVAL = 50;

const NOTHING: Wants = {
  colouring: 'state',
  order: 'number',
  tables: null,
  queue: 0,
  scheduler: false,
  events: null,
  tree: null,
  selection: { block: null, sequence: null, request: null },
  rectangle: null,
  requests: [],
  series: null,
  token: null,
};

const DECISIONS: Term = { field: 'decision', not: false, values: [ANY] };
const ofBlock = (block: number): Term => ({
  field: 'block',
  not: false,
  values: [{ from: block, to: block }],
});
const ofRequest = (request: number): Term => ({ field: 'owner', not: false, values: [{ request }] });

export class Publisher {
  private wants: Wants = NOTHING;
  private readonly events: Listing;
  private readonly biography: Scan;
  private readonly story: Scan;
  private readonly sayings: Sayings;
  private readonly lineage: Lineage;
  private readonly map: MapView;
  private readonly rectangle = new RectangleCount();
  /** null: nobody looks at it. */
  private tree: Tree | null = null;
  private readonly timeline: Timeline;
  /** The version of the landmarks whose notes the page has. */
  private noted = -1;
  private seekingChange: { direction: 1 | -1; step: number | null } | null = null;
  private lastView = 0;
  private forced = true;
  /** Where the view was on its way to, as the page knows it. */
  private heading = '';

  constructor(private readonly session: Session) {
    this.sayings = new Sayings(session.texts);
    this.timeline = new Timeline(session);
    this.events = new Listing(
      session.history,
      session.memory,
      session.series,
      session.requests,
      session.origin,
      () => session.head.lastHere,
      () => session.changed(),
    );
    this.biography = new Scan(session.history, session.memory, [], 200, 1);
    this.story = new Scan(session.history, session.memory, [DECISIONS], 200, 1);
    this.lineage = new Lineage(session.fold.contents, session.requests, () => {
      this.map.learned();
      session.changed();
    });
    this.map = new MapView(session, this.lineage);
  }

  want(wants: Wants): void {
    if (String(Object.values(wants.selection)) !== String(Object.values(this.wants.selection)))
      this.seekingChange = null;
    this.map.colour(wants.colouring);
    this.map.arrange(wants.order);
    this.wants = wants;
    if (wants.tree === null) this.tree = null;
    if (wants.events !== null) this.events.look(wants.events);
    this.lookAtSelection();
    this.forced = true;
  }

  /** What the lists of the inspector are of. A sequence's request may be known only once there is a state. */
  private lookAtSelection(): number | null {
    const { block } = this.wants.selection;
    const request = this.selectedRequest();
    if (block !== null) this.biography.look([ofBlock(block)]);
    if (request !== null) this.story.look([DECISIONS, ofRequest(request)]);
    const { texts } = this.session;
    texts.wanted = new Set(request === null ? this.wants.requests : [...this.wants.requests, request]);
    texts.isRead = block !== null || texts.wanted.size > 0;
    return request;
  }

  /** Go to the next or the previous step that changed what is selected, loaded or not. */
  toChange(direction: 1 | -1): void {
    this.seekingChange = { direction, step: null };
  }

  /** Look for the change that was asked for; true when there is more to look at. */
  private workOnChange(more: boolean): boolean {
    const wanted = this.seekingChange;
    const { fold, navigator } = this.session;
    if (wanted === null || navigator.moving || !fold.loaded) return false;
    wanted.step ??= fold.step;
    const { block } = this.wants.selection;
    const scan = block !== null ? this.biography : this.selectedRequest() !== null ? this.story : null;
    if (scan === null || fold.step !== wanted.step) {
      this.seekingChange = null;
      return false;
    }
    const found = scan.change(fold, wanted.direction);
    if (found !== null) {
      this.seekingChange = null;
      this.session.transport.seek(found);
      return false;
    }
    if (more) return true;
    this.seekingChange = null;
    const request = this.selectedRequest();
    void this.seekFurther(
      block !== null ? [ofBlock(block)] : [DECISIONS, ofRequest(request!)],
      wanted.direction,
    );
    return false;
  }

  /** It lies beyond what is here. */
  private async seekFurther(filter: Filter, direction: 1 | -1): Promise<void> {
    const { session } = this;
    const { step } = session.fold;
    const found = await findEvent(session, printFilter(filter), direction > 0 ? 'later' : 'earlier', null);
    // Somebody went elsewhere meanwhile.
    if (session.fold.step !== step || session.navigator.moving) return;
    if ('fault' in found) session.say({ kind: 'noSearch', why: found.fault });
    else if (found.row !== null) session.transport.seek(found.row.step);
    else session.say({ kind: 'noChange', direction });
  }

  private selectedRequest(): number | null {
    const { sequence, request } = this.wants.selection;
    if (sequence === null) return request;
    const found = this.session.memory.requestOf(sequence);
    return found < 0 ? request : found;
  }

  /** Look through the history for what the panels list; true when there is more to look at. */
  work(deadline: number): boolean {
    const { fold, navigator, texts } = this.session;
    // A picture that was waited for goes first.
    if (!navigator.moving && !this.hasPicture(performance.now())) texts.catchUp();
    let more = false;
    if (this.wants.events !== null)
      more = this.events.work(fold, deadline, this.session.mode !== 'follow' && navigator.moving);
    const request = this.lookAtSelection();
    let looking = false;
    if (this.wants.selection.block !== null) looking = this.biography.work(fold, deadline);
    if (request !== null) looking = this.story.work(fold, deadline) || looking;
    return this.workOnChange(looking) || looking || more;
  }

  /** The notes, where they are others than the page was told last. */
  private notes(): readonly Landmark[] | null {
    const { landmarks } = this.session;
    if (landmarks.version === this.noted) return null;
    this.noted = landmarks.version;
    return landmarks.ofKind('note');
  }

  /** The next view is wanted at once. */
  hurry(): void {
    this.forced = true;
  }

  /** Is there another picture to be shown at once? */
  hasPicture(now: number): boolean {
    return this.session.mode === 'at' && this.map.hasPicture(now);
  }

  private get changed(): boolean {
    return this.session.dirty || this.events.changed || this.biography.changed || this.story.changed;
  }

  /** ms until there may be something to say; 0: now; null: nothing. */
  due(now: number): number | null {
    const { navigator } = this.session;
    // What a seek brought is about to be there: a picture of the way would only hold up that of the place.
    if (navigator.isBringing(now)) return null;
    // Somebody who moves the view waits for it.
    if (this.forced || this.hasPicture(now)) return 0;
    if (!this.changed && !this.map.hasPicture(now) && this.heading === navigator.heading)
      return this.dueLater(now);
    return Math.max(0, this.lastView + INTERVAL - now);
  }

  /** What takes long is told of a state when there is time for it. */
  private dueLater(now: number): number | null {
    const { fold } = this.session;
    const { tree, map, rectangle, wants } = this;
    const dues = [
      tree?.due(fold, now) ?? null,
      map.dueOrder(now),
      rectangle.due(fold, wants.rectangle, map.orderVersion, now),
    ];
    const some = dues.filter((each) => each !== null);
    return some.length === 0 ? null : Math.min(...some);
  }

  /** The next view, and what of it can be handed over instead of copied. */
  view(now: number): { view: View; transfer: ArrayBuffer[] } {
    const { session, wants } = this;
    const { fold } = session;
    const request = this.lookAtSelection();
    const step = session.mode === 'at' ? changesAt(session.current, fold) : null;
    const { map, shading } = this.map.changed(step, request, now);
    const { selection } = wants;
    // Of a view that is only on its way somewhere else the panels stay as they are.
    const has = this.forced || this.changed || map !== null;
    this.heading = session.navigator.heading;
    const timeline = this.timeline.answer(wants, has, now);
    const view: View = {
      position: positionOf(session),
      usage: fold.usage(),
      usable: session.usable(),
      light: session.light(),
      link: session.head.link,
      health: session.head.health,
      status: session.head.status,
      lag: session.head.lag,
      gaps: session.head.gaps,
      ending: session.head.ending,
      notice: session.notice,
      map,
      shading,
      tables: has ? this.tables() : null,
      queue:
        has && wants.queue > 0 && !session.isContiguous
          ? // Its head changes with every step: it has a text where that is here, and asks for none.
            queueAnswer(
              fold.blocks,
              wants.queue,
              (content) => this.sayings.start(content, fold.record, false),
              movesAt(session.current, fold),
            )
          : null,
      runs: has && wants.queue > 0 && session.isContiguous ? runsAnswer(fold.blocks, wants.queue) : null,
      scheduler: has && wants.scheduler ? schedulerAnswer(fold, session.hello, session.current) : null,
      events:
        has && wants.events !== null
          ? this.events.answer(fold, session.head.link === 'replay' ? session.table.counts : null)
          : null,
      tree: this.prefixTree(has, now),
      block:
        selection.block !== null
          ? blockAnswer(
              fold,
              selection.block,
              session.isContiguous,
              this.biography.answer(fold),
              this.sayings,
            )
          : null,
      request: request !== null ? this.request(request, selection.sequence, this.story.answer(fold)) : null,
      requests: wants.requests.map((each) => this.request(each, null, null)),
      token: this.token(),
      rectangle: this.rectangle.answer(fold, wants.rectangle, this.map, now),
      marked: request !== null ? blocksOf(fold, selection) : null,
      ...timeline,
      notes: this.notes(),
    };
    this.forced = false;
    this.lastView = now;
    session.dirty = false;
    this.events.changed = false;
    this.biography.changed = false;
    this.story.changed = false;
    const { blockAt, cellOf } = map?.arrangement ?? {};
    const transfer = [map?.full, map?.blocks, map?.words, map?.glow, map?.faint, blockAt, cellOf]
      .filter((array): array is Uint32Array => array != null && array.length > 0)
      .map((array) => array.buffer as ArrayBuffer);
    return { view, transfer: [...new Set(transfer)] };
  }

  private tables(): View['tables'] {
    const { session, wants } = this;
    if (wants.tables === null) return null;
    const { fold } = session;
    const { copied, careers } = session.traces;
    const answer = tablesAnswer(
      fold,
      { copied, careers, present: copiesAt(session.current, fold) },
      wants.tables,
    );
    // Who ended before this page came, only the server knows.
    const { state } = wants.tables;
    const missing = answer.unknown > 0;
    if (missing || state === 'finished' || state === 'any')
      careers.want(missing, session.head.link !== 'replay');
    return answer;
  }

  private request(request: number, sequence: number | null, story: EventList | null): RequestAnswer | null {
    const isSelected = story !== null;
    const { session, sayings } = this;
    const { texts, series, traces } = session;
    if (session.fold.loaded && !session.memory.facts.has(request)) {
      // One that this page has not seen: the server knows it, if it was ever there.
      const isPast = request <= texts.transcripts.newest || session.head.link === 'replay';
      if (isPast) texts.want(request, session.fold.record);
      else if (isSelected) texts.wantUnknown(request);
    }
    return requestAnswer(session.fold, request, sequence, story, {
      texts,
      sayings,
      series,
      copied: traces.copied,
    });
  }

  /** null: nobody looks at it, or it is not time to build it of another state. */
  private prefixTree(has: boolean, now: number): View['tree'] {
    const { session, wants } = this;
    const { fold } = session;
    if (wants.tree === null || session.isContiguous || !fold.loaded) return null;
    this.tree ??= new Tree(fold, session.texts);
    const due = this.tree.due(fold, now);
    if (!this.forced && due !== 0 && (due !== null || !has)) return null;
    this.tree.update(fold, wants.tree, now);
    this.lineage.want(fold.step, this.tree.trie.missing);
    const { texts, traces } = session;
    return treeAnswer(fold, this.tree, wants.tree, wants.selection.block, {
      texts,
      freed: traces.freed,
      fault: this.lineage.fault,
    });
  }

  private token(): View['token'] {
    const { token } = this.wants;
    const { fold, memory } = this.session;
    return token === null ? null : this.sayings.token(token.sequence, token.place, toldBy(fold), memory);
  }

  /** The whole state, for tests and for whoever wants to look at it by hand. */
  state(): unknown {
    return plainState(this.session.fold);
  }

  /** The whole prefix tree, for the same. */
  wholeTree(): unknown {
    return plainTree(this.session.fold);
  }
}
