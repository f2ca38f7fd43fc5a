/**
 * Whose turn it is of what a view brings: as much a frame as takes little, in turn, so that no frame takes long and each part is
 * soon of the newest view.
 *
 *     frame   1         2        3       4
 *     quick   all                                   picture: map, place, light; parts: tables, lists, curves
 *     else    picture   tables   lists   curves
 *     else    picture   tables   picture lists      where views come so fast, parts have every second frame at least
 */

/** ms of script that is let into a frame: half of what one may have. */
const ROOM = 4;
/** Of so many times the shortest tells what a part takes: what else keeps a processor busy does not delay each. */
const TAKES = 4;

export class Rota<Part> {
  private turns: Part[] = [];
  /** ms that each took, the last times. */
  private readonly took = new Map<Part, number[]>();
  /** The part whose turn it is gave way to a picture. */
  private gaveWay = false;

  /** Is there nothing to be shown? */
  get isEmpty(): boolean {
    return this.turns.length === 0;
  }

  /** What is, in turn. */
  get all(): readonly Part[] {
    return this.turns;
  }

  /** These have something new. Those that wait already keep their turn, and show what is newest then. */
  offer(parts: readonly Part[]): void {
    for (const part of parts) if (!this.turns.includes(part)) this.turns.push(part);
  }

  /** Those to be shown in this frame, in which `picture` is shown already; null: nothing is. */
  take(picture: Part | null): Part[] {
    const taken: Part[] = [];
    let room = ROOM - (picture === null ? 0 : this.costOf(picture));
    for (let part = this.turns[0]; part !== undefined; part = this.turns[0]) {
      const cost = this.costOf(part);
      if (cost > room && (taken.length > 0 || (picture !== null && !this.gaveWay))) break;
      taken.push(part);
      this.turns.shift();
      room -= cost;
    }
    this.gaveWay = picture !== null && taken.length === 0 && !this.isEmpty;
    return taken;
  }

  /** These were shown in a frame, and took so many ms together. */
  tell(parts: readonly Part[], ms: number): void {
    const costs = parts.map((part) => this.costOf(part));
    const whole = costs.reduce((sum, each) => sum + each, 0);
    parts.forEach((part, i) => {
      const times = this.took.get(part) ?? [];
      times.push(whole > 0 ? (ms * costs[i]!) / whole : ms / parts.length);
      if (times.length > TAKES) times.shift();
      this.took.set(part, times);
    });
  }

  /** ms; what is not known yet has a frame for itself. */
  private costOf(part: Part): number {
    const times = this.took.get(part) ?? [];
    return times.length < TAKES ? ROOM : Math.min(...times);
  }

  /** Nothing waits any more. */
  clear(): void {
    this.turns = [];
    this.gaveWay = false;
  }
}
