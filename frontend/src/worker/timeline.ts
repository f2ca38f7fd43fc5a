/** What the timeline shows of a session: which steps, their buckets, landmarks and lanes, and all of the session in small. */

import type { Landmark } from './landmarks';
import { type LanesAnswer, MOST_STEPS } from './lanes';
import type { View, Wants } from './protocol';
import type { Buckets } from './series';
import type { Session } from './session';

/** ms between two pictures of all of a session that grows: a pixel of it is many steps. */
const OVERVIEW_INTERVAL = 500;

export class Timeline {
  private window = { from: 0, to: 1 };
  /** Does the window lie around a place of the view's? One of before there is a state lies anywhere, as the page was quick. */
  private isPlaced = false;
  /** Of which buckets, landmarks, lanes and overview the page has them. */
  private buckets = '';
  private listed = '';
  private asked = '';
  /** The step that the rows of requests are about: where the view is, or was; of the last answer, and its rows. */
  private at = 0;
  private laidAt = -1;
  private rows = '';
  private seen = '';
  private seenAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly session: Session) {}

  /** null each: nothing is wanted, or the page has it. `has`: there may be something new beside what grows by itself. */
  answer(wants: Wants, has: boolean, now: number): Pick<View, 'series' | 'landmarks' | 'lanes' | 'overview'> {
    const wanted = wants.series;
    if (wanted === null) return { series: null, landmarks: null, lanes: null, overview: null };
    return {
      series: this.series(wanted),
      landmarks: has ? this.landmarks() : null,
      lanes: has ? this.lanes(wanted, wants.selection) : null,
      overview: this.overview(wanted, now),
    };
  }

  private series(wanted: NonNullable<Wants['series']>): Buckets | null {
    const { session } = this;
    const end = Math.max(1, session.lastStep + 1);
    if (wanted.range === 'all') this.window = { from: session.firstStep, to: end };
    else if (wanted.range !== 'recent') this.window = this.held(wanted.range, end);
    else this.window = this.recent(wanted.steps, end);
    const { from, to } = this.window;
    const { version, filling } = session.series;
    const buckets = [from, to, wanted.width, version, filling].join();
    if (buckets === this.buckets) return null;
    this.buckets = buckets;
    return session.series.buckets(from, to, wanted.width);
  }

  /** Within the session: what an address tells may be of another. */
  private held({ from, to }: { from: number; to: number }, end: number): { from: number; to: number } {
    const last = Math.max(this.session.firstStep + 1, Math.min(to, end));
    return { from: Math.max(this.session.firstStep, Math.min(from, last - 1)), to: last };
  }

  private landmarks(): readonly Landmark[] | null {
    const { landmarks } = this.session;
    const { from, to } = this.window;
    const listed = [from, to, landmarks.version].join();
    if (listed === this.listed) return null;
    this.listed = listed;
    return landmarks.between(from, to);
  }

  private lanes(wanted: NonNullable<Wants['series']>, selection: Wants['selection']): LanesAnswer | null {
    const { lanes, wideLanes, series, memory, navigator, fold } = this.session;
    const { from, to } = this.window;
    const { rows: count, offset } = wanted.lanes;
    if (count === 0) return null;
    // On its way somewhere the rows stay.
    if (!navigator.moving) this.at = fold.step;
    const { sequence, request } = selection;
    const selected = sequence === null ? request : (memory.sequences.get(sequence)?.request ?? request);
    const isWide = to - from > MOST_STEPS;
    // What is known of many steps has holes where their table has.
    const versions = isWide ? [wideLanes.version, series.filling] : [lanes.version];
    const asked = [from, to, count, offset, selected, ...versions].join();
    if (asked === this.asked && this.at === this.laidAt) return null;
    const query = { from, to, count, at: this.at, offset, selected };
    const answer = isWide ? wideLanes.answer(query) : lanes.answer(query);
    const rows = answer.rows.map(({ request }) => request).join();
    const isSame = asked === this.asked && rows === this.rows;
    this.asked = asked;
    this.laidAt = this.at;
    this.rows = rows;
    return isSame ? null : answer;
  }

  /** The whole session. */
  private overview({ overview }: NonNullable<Wants['series']>, now: number): Buckets | null {
    const { firstStep, lastStep, series, head } = this.session;
    const seen = [firstStep, lastStep, overview, series.version, series.filling].join();
    if (seen === this.seen) return null;
    if (head.link !== 'replay' && now - this.seenAt < OVERVIEW_INTERVAL) return null;
    this.seen = seen;
    this.seenAt = now;
    return series.buckets(firstStep, Math.max(firstStep + 1, lastStep + 1), overview);
  }

  /** The last steps while following; elsewhere a window that stays until the view leaves it. */
  private recent(steps: number, end: number): { from: number; to: number } {
    const { session, window } = this;
    const at = session.navigator.goal?.step ?? session.fold.step;
    const follows = session.mode === 'follow' || at >= end - 1;
    const margin = steps / 20;
    const isHeld = this.isPlaced;
    this.isPlaced = session.fold.loaded;
    if (
      isHeld &&
      !follows &&
      window.to - window.from === steps &&
      at > window.from + margin &&
      at < window.to - margin
    ) {
      return window;
    }
    const to = follows ? end : Math.min(end, at + Math.ceil(steps / 2));
    const from = Math.max(session.firstStep, to - steps);
    return { from, to: Math.max(to, Math.min(from + steps, end)) };
  }
}
