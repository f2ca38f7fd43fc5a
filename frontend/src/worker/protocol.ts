/**
 * What the page and its ledger worker say to one another.
 *
 * The worker holds the session: it decodes, folds, keeps history and moves through it. The page holds nothing but the
 * last {@link View}. The worker sends a view when it has something new *and* a credit; the page gives the next credit
 * when it has drawn, so there is at most one view on its way and one an animation frame.
 */

import type { Usage } from '../ledger/fold';
import type { Health, Hello, Status } from '../ledger/generated/types';
import type { EventRow } from './answers/events';
import type { BlockAnswer, Selection } from './answers/inspect';
import type { QueueAnswer } from './answers/queue';
import type { RequestAnswer } from './answers/request';
import type { RunsAnswer } from './answers/runs';
import type { TokenAnswer } from './answers/said';
import type { SchedulerAnswer } from './answers/scheduler';
import type { TablesAnswer, TablesWish } from './answers/tables';
import type { TreeAnswer } from './answers/tree';
import type { Comparison } from './compare';
import type { EmbeddedRecording } from './embedded';
import type { EventPlace, EventQuery } from './eventPage';
import type { Landmark, LandmarkKind } from './landmarks';
import type { LanesAnswer } from './lanes';
import type { ListingAnswer, ListingWish } from './listing';
import type { Arrangement, Order } from './order';
import type { Destination } from './place';
import type { Pace } from './player';
import type { Rectangle, RectangleAnswer } from './rectangle';
import type { Buckets } from './series';
import type { Colouring, Shading } from './shades';
import type { Wish } from './source';
import type { TreeWants } from './tree/tree';

/** States that a seek can tell the changes since: those that are here, and those that are yet to be fetched. */
export interface BasesKept {
  readonly kept: number;
  readonly left: number;
}

/** Where the view is: at the live end, at one place, or going on from there at a pace. */
export type Mode = 'follow' | 'at' | 'play';

/**
 * The digest light. Green only when this page folded the record and its lanes equal the record's; red at the first
 * fault, and for good; grey while nothing is known.
 */
export interface Light {
  readonly colour: 'green' | 'red' | 'grey';
  readonly record: number | null;
  /** What is wrong; '' unless it is red. */
  readonly message: string;
  /** Why it is grey; null: it is not, or nothing was heard yet. */
  readonly doubt: Doubt | null;
}

/** The way to the server: `replay` needs none. */
export type LinkState = 'connecting' | 'open' | 'lost' | 'replay';

export interface Position {
  readonly mode: Mode;
  /** Is there a state to show at all? */
  readonly loaded: boolean;
  readonly record: number;
  readonly step: number;
  readonly op: number;
  /** ns since the session's start. */
  readonly time: number;
  /** How many of the step's operations are applied, where the view stands within the step. */
  readonly within: { readonly done: number; readonly of: number } | null;
  /** The operation behind which it stands there, or is on its way to. */
  readonly operation: number | null;
  /** The last step, record and operation that the session has, and when it was sealed, as far as this page knows. */
  readonly lastStep: number;
  readonly lastRecord: number;
  readonly lastOp: number;
  readonly lastTime: number;
  /** Is the view on its way to another step? */
  readonly moving: boolean;
  /** Does a view that plays wait for what it should show? */
  readonly stalled: boolean;
  /** The step that was asked for, where it is not yet reached. */
  readonly target: number | null;
}

/** Changes of the memory map: words as {@link Packer} makes them. Where blocks lie by owner, cells stand for blocks in all of it. */
export interface MapChange {
  /** A word for each block, in place of all: the page's own from then on. */
  readonly full: Uint32Array<ArrayBuffer> | null;
  readonly blocks: Uint32Array;
  readonly words: Uint32Array;
  /** Blocks that glow: what changed since the last view (following) or in the present step (elsewhere). */
  readonly glow: Uint32Array;
  /** Blocks that were merely filled further: they glow faintly. */
  readonly faint: Uint32Array;
  /** Forget all earlier glow. */
  readonly jump: boolean;
  /** By what the words colour the map. */
  readonly colouring: Colouring;
  /** Where blocks lie from now on; null: where they lay. */
  readonly arrangement: Arrangement | null;
}

/** What the page wants to see beside the map. Asked again whenever it changes. */
export interface Wants {
  /** By what the map is coloured: as states, where nobody looks at it. */
  readonly colouring: Colouring;
  /** In which order blocks lie on the map. */
  readonly order: Order;
  readonly tables: TablesWish | null;
  readonly queue: number;
  readonly scheduler: boolean;
  readonly events: ListingWish | null;
  readonly tree: TreeWants | null;
  readonly selection: Selection;
  /** Of which part of the map it is told what is in it. */
  readonly rectangle: Rectangle | null;
  /** Requests of which everything is wanted, as of the selected one: those that were sent from this page. */
  readonly requests: readonly number[];
  /** A part of the timeline in at most `width` buckets: all, about `steps` around the view, or a part that was chosen. */
  readonly series: {
    readonly range: 'all' | 'recent' | { readonly from: number; readonly to: number };
    readonly steps: number;
    readonly width: number;
    /** All of the session, in at most so many buckets. */
    readonly overview: number;
    /** At most so many rows of requests, from the row `offset` on. */
    readonly lanes: { readonly rows: number; readonly offset: number };
  } | null;
  /** A token that a sequence sampled, by its place behind the prompt: what else it could have been. */
  readonly token: { readonly sequence: number; readonly place: number } | null;
}

/** Something that could not be done; the page has the words for it. `why` is told by a server, or by what failed. */
export type Notice =
  | { readonly kind: 'noStep'; readonly step: number; readonly last: number }
  | { readonly kind: 'noLandmark'; readonly of: LandmarkKind | 'any'; readonly direction: 1 | -1 }
  | { readonly kind: 'noChange'; readonly direction: 1 | -1 }
  | { readonly kind: 'notSaved'; readonly lost: number; readonly last: number }
  | { readonly kind: 'notLoaded'; readonly step: number; readonly why: string }
  | { readonly kind: 'noEarlier' | 'noTable' | 'noSearch'; readonly why: string };

/** Why nothing is verified. */
export type Doubt =
  | { readonly kind: 'nothing' | 'unreadable' }
  | { readonly kind: 'slow' | 'less'; readonly first: number; readonly last: number }
  | { readonly kind: 'lost'; readonly first: number; readonly last: number; readonly why: string };

/** All that the page shows, of one step. */
export interface View {
  readonly position: Position;
  readonly usage: Usage;
  /** Blocks that can be used (null blocks are not). */
  readonly usable: number;
  readonly light: Light;
  readonly link: LinkState;
  /** Is the engine's link to the server up? */
  readonly health: Health | null;
  readonly status: Status | null;
  /** ms between the sealing of the last record that arrived and now; null when not live. */
  readonly lag: number | null;
  readonly gaps: number;
  /** How a session that was live ended while this page watched it; null: it is live, or was not. */
  readonly ending: 'ended' | 'interrupted' | null;
  /** Something that could not be done, to be said to the reader. */
  readonly notice: Notice | null;
  readonly map: MapChange | null;
  /** What the legend says of the map's shades; null: it has none, or the page has it. */
  readonly shading: Shading | null;
  readonly tables: TablesAnswer | null;
  /** One of these two: a free queue, or where memory is contiguous its free runs. */
  readonly queue: QueueAnswer | null;
  readonly runs: RunsAnswer | null;
  readonly scheduler: SchedulerAnswer | null;
  readonly events: ListingAnswer | null;
  /** null: none is wanted, or the page has it. */
  readonly tree: TreeAnswer | null;
  readonly block: BlockAnswer | null;
  readonly request: RequestAnswer | null;
  /** One for each of {@link Wants.requests}; null: it is not known at this record. */
  readonly requests: readonly (RequestAnswer | null)[] | null;
  readonly series: Buckets | null;
  /** The landmarks that are listed one by one, of the part of the timeline that is wanted. */
  readonly landmarks: readonly Landmark[] | null;
  /** All notes of the session; null: the page has them. */
  readonly notes: readonly Landmark[] | null;
  /** What each request did in that part. */
  readonly lanes: LanesAnswer | null;
  /** The whole session in small. */
  readonly overview: Buckets | null;
  /** {@link Wants.token}; null: it is not known at this record. */
  readonly token: TokenAnswer | null;
  /** null: none is wanted, or the page has it. */
  readonly rectangle: RectangleAnswer | null;
  /** Blocks of the selected sequence or request. */
  readonly marked: Uint32Array | null;
}

/** `state`, `tree`: all that is known where the view stands, for tests; `ready`: once that is shown. */
export type Question = 'state' | 'tree' | 'ready' | 'bases';

export type ToWorker =
  | {
      kind: 'open';
      session: string;
      api: string;
      live: boolean;
      to: Destination | null;
      lastStep: number;
      lastRecord: number;
      /** In place of a server: the recording that the page holds. */
      recording: EmbeddedRecording | null;
      wish: Wish;
    }
  | { kind: 'close' }
  | { kind: 'follow' }
  | { kind: 'go'; to: Destination }
  /** The pointer rests on this step of the timeline, or on none. */
  | { kind: 'expect'; step: number | null }
  | { kind: 'by'; steps: number }
  | { kind: 'byOperations'; operations: number }
  /** `from`: search from this step instead of from the view. */
  | { kind: 'landmark'; of: LandmarkKind | 'any'; direction: 1 | -1; from: number | null }
  /** Pause, or where the view stands go on at a pace. */
  | { kind: 'playOrPause'; pace: Pace }
  /** Where it plays, go on at this pace. */
  | { kind: 'pace'; pace: Pace }
  | { kind: 'wants'; wants: Wants }
  | { kind: 'credit' }
  | { kind: 'retry' }
  | { kind: 'earlier' }
  | { kind: 'dismiss' }
  | { kind: 'change'; direction: 1 | -1 }
  /** The nearest event that meets a filter, from the view on. Answered with a {@link Found}. */
  | { kind: 'find'; id: number; filter: string; direction: EventQuery['direction']; from: EventPlace | null }
  /** What the note at a record tells of a breakpoint. Answered with a {@link Hit}, or null: it tells of none. */
  | { kind: 'hit'; id: number; record: number }
  /** What differs between the states of two steps. Answered with a {@link Compared}. */
  | { kind: 'compare'; id: number; from: number; to: number }
  | { kind: 'ask'; id: number; question: Question };

export type Compared = Comparison | { readonly fault: string };

/** null: there is none. */
export type Found = { readonly row: EventRow | null } | { readonly fault: string };

export type FromWorker =
  | { kind: 'opened'; session: string; hello: Hello }
  | { kind: 'failed'; session: string; message: string }
  | { kind: 'view'; view: View }
  | { kind: 'answer'; id: number; value: unknown };
