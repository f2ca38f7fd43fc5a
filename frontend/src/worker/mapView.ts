/** What the page is told of the map: its changes since the last view, and with shades what the legend says of them. */

import type { StepChanges } from './changes';
import type { Lineage } from './lineage';
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

  /** More is known of what contents follow. */
  learned(): void {
    if (this.colouring === 'depth') this.session.changes.recolour();
  }

  /** `step`: what the present step changed; null: while following. `selected`: the request that is. */
  changed(
    step: StepChanges | null,
    selected: number | null,
  ): { map: MapChange | null; shading: Shading | null } {
    const { colouring } = this;
    const { fold, changes, history } = this.session;
    if (colouring === 'owner' && selected !== this.selected) changes.recolour();
    if (colouring === 'recency' && fold.step !== this.step) changes.recolour();
    if (!changes.any) return { map: null, shading: null };
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
