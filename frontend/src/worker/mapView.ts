/** What the page is told of the map: its changes since the last view, and with shades what the legend says of them. */

import type { StepChanges } from './changes';
import type { Lineage } from './lineage';
import { BY_NUMBER, type Order, OwnerOrder } from './order';
import type { MapChange } from './protocol';
import { FAR } from './recency';
import type { Session } from './session';
import { Shader } from './shader';
import type { Colouring, Shading } from './shades';

/** About so many records have the steps by which the map says how long ago a block had its last operation. */
const RECENT_RECORDS = 2 * FAR;

export class MapView {
  private colouring: Colouring = 'state';
  /** null: the map is coloured by states. */
  private shader: Shader | null = null;
  /** The request that stands out, and the step of which the shades are. */
  private selected: number | null = null;
  private step = -1;
  /** null: blocks lie by their number. */
  private owners: OwnerOrder | null = null;
  /** The page has another order. */
  private rearranged = false;
  /** The first record before which more was asked for. */
  private askedBefore = -1;

  constructor(
    private readonly session: Session,
    /** Of contents whose depths are not known. */
    private readonly lineage: Lineage,
  ) {}

  colour(colouring: Colouring): void {
    if (colouring === this.colouring) return;
    this.colouring = colouring;
    this.askedBefore = -1;
    if (colouring === 'state') this.shader = null;
    this.session.changes.recolour();
  }

  arrange(order: Order): void {
    if ((order === 'owner') === (this.owners !== null)) return;
    this.owners = order === 'owner' ? new OwnerOrder(this.session.fold.numBlocks) : null;
    this.rearranged = true;
    this.session.changes.recolour();
  }

  /** Which block lies in each cell, as the page has it; null: the one whose number it is. */
  get blockAt(): Uint32Array | null {
    return this.owners?.blockAt ?? null;
  }

  /** It changes when blocks lie elsewhere. */
  get orderVersion(): number {
    return this.owners?.version ?? 0;
  }

  /** ms until blocks should be put in order anew; null: they are. */
  dueOrder(now: number): number | null {
    const { fold, mode } = this.session;
    return this.owners?.due(fold, mode === 'at', now) ?? null;
  }

  /** Is the page to be told of the state that the fold has now? Not before blocks are put in the order of it: it is one picture. */
  private waits(now: number): boolean {
    return (this.owners?.version ?? 0) > 0 && (this.dueOrder(now) ?? 0) > 0;
  }

  /** Is there another picture? */
  hasPicture(now: number): boolean {
    return this.session.changes.any && !this.waits(now);
  }

  /** More is known of what contents follow. */
  learned(): void {
    if (this.colouring === 'depth') this.session.changes.recolour();
  }

  /** `step`: what the present step changed; null: while following. `selected`: the request that is. */
  changed(
    step: StepChanges | null,
    selected: number | null,
    now: number,
  ): { map: MapChange | null; shading: Shading | null } {
    if (this.waits(now)) return { map: null, shading: null };
    if (this.owners !== null && this.dueOrder(now) === 0) {
      this.owners.make(this.session.fold);
      this.rearranged = true;
    }
    const { map, shading } = this.recoloured(step, selected);
    // Before there is a state nobody owns anything.
    const isByNumber = this.owners === null ? !this.rearranged : this.owners.version === 0;
    if (map === null || isByNumber) return { map, shading };
    const isNew = this.rearranged;
    this.rearranged = false;
    return { map: inOrder(map, this.session.changes.sent, this.owners, isNew), shading };
  }

  /** The change, by the numbers of blocks. */
  private recoloured(
    step: StepChanges | null,
    selected: number | null,
  ): { map: MapChange | null; shading: Shading | null } {
    const { colouring } = this;
    const { fold, changes, history } = this.session;
    if (colouring === 'owner' && selected !== this.selected) changes.recolour();
    if (colouring === 'recency' && fold.step !== this.step) changes.recolour();
    if (!changes.any && !this.rearranged) return { map: null, shading: null };
    [this.selected, this.step] = [selected, fold.step];
    if (colouring === 'state') return { map: changes.take(fold.blocks, step), shading: null };
    this.shader ??= new Shader(fold.numBlocks, history);
    const { shader } = this;
    const shading = shader.shade(fold, colouring, selected);
    if (colouring === 'depth') this.lineage.want(fold.step, shader.missing);
    if (colouring === 'recency' && shader.isShort) this.lookFurtherBack();
    return { map: changes.takeShaded(fold.blocks, step, colouring, shader.shades), shading };
  }

  /** Load the records before the view in which blocks had their last operations. */
  private lookFurtherBack(): void {
    const { mode, navigator, fold, history, changes } = this.session;
    const range = history.rangeAt(fold.record);
    if (mode === 'play' || navigator.moving || range === undefined || range.first === this.askedBefore)
      return;
    this.askedBefore = range.first;
    navigator.beside
      .loadEarlier(RECENT_RECORDS, fold.record)
      .then((isMore) => {
        if (!isMore) return;
        changes.recolour();
        this.session.changed();
      })
      .catch(() => {
        // The legend says that it is not known.
      });
  }
}

const EMPTY = new Uint32Array(0);

/** A change that names blocks and has their words, as one of cells. `isNew`: the page has another order yet. */
function inOrder(map: MapChange, words: Uint32Array, owners: OwnerOrder | null, isNew: boolean): MapChange {
  const isWhole = isNew || map.full !== null;
  if (owners === null)
    return {
      ...map,
      full: words.slice(),
      blocks: EMPTY,
      words: EMPTY,
      arrangement: BY_NUMBER,
    };
  const { blockAt, cellOf, groups } = owners;
  const cells = (blocks: Uint32Array): Uint32Array => blocks.map((block) => cellOf[block]!);
  return {
    ...map,
    full: isWhole ? blockAt.map((block) => words[block]!) : null,
    blocks: isWhole ? EMPTY : cells(map.blocks),
    words: isWhole ? EMPTY : map.words,
    glow: cells(map.glow),
    faint: cells(map.faint),
    arrangement: isNew ? { blockAt: blockAt.slice(), cellOf: cellOf.slice(), groups } : null,
  };
}
