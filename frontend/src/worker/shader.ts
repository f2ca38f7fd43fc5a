/** Finds the shades of all blocks at a state, and what the legend says of them. */

import type { Blocks } from '../ledger/blocks';
import type { Fold } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import { headOfQueue } from './answers/queue';
import type { History } from './history';
import { Owners } from './owners';
import { Recency } from './recency';
import {
  BINS,
  type Colouring,
  EDGES,
  isOwner,
  type Owned,
  Owner,
  ownerShade,
  SHADES,
  type Shading,
  UNKNOWN_SHADE,
} from './shades';
import { Depths } from './tree/depths';

/** Owners that the legend names. */
const MOST_OWNERS = 6;

// A loop over all blocks meets one kind of array only: that makes it a fast one.

function shadeBy(bins: Uint8Array, values: Uint32Array, shades: Uint16Array): void {
  const far = bins.length - 1;
  for (let b = 0; b < shades.length; b++) shades[b] = bins[Math.min(far, values[b]!)]!;
}

export class Shader {
  /** A shade a block. */
  readonly shades: Uint16Array;
  private readonly tally = new Uint32Array(SHADES);
  private readonly depths = new Depths();
  private readonly recency: Recency;
  private readonly owners = new Owners();

  constructor(numBlocks: number, history: Pick<History, 'get'>) {
    this.shades = new Uint16Array(numBlocks);
    this.recency = new Recency(numBlocks, history);
  }

  /** Contents of which the depth was asked for last and is not known. */
  get missing(): ReadonlySet<number> {
    return this.depths.missing;
  }

  /** Is more of the records before the view needed? */
  get isShort(): boolean {
    return this.recency.isShort;
  }

  /** Bring the shades up to date. `selected`: the request that stands out among owners. */
  shade(fold: Fold, colouring: Exclude<Colouring, 'state'>, selected: number | null): Shading {
    const { shades, tally } = this;
    const { blocks } = fold;
    switch (colouring) {
      case 'refs':
        shadeBy(BINS.refs, blocks.count, shades);
        break;
      case 'hits':
        shadeBy(BINS.hits, blocks.hits, shades);
        break;
      case 'recency':
        this.recency.shade(fold, shades);
        break;
      case 'queue':
        this.shadeQueue(blocks);
        break;
      case 'depth':
        this.shadeDepths(fold);
        break;
      case 'owner':
        return this.shadeOwners(fold, selected);
    }
    tally.fill(0);
    for (let b = 0; b < shades.length; b++) tally[shades[b]!]!++;
    return { colouring, tally: tally.slice(), owners: [], ownerCount: 0, selected };
  }

  private shadeQueue(blocks: Blocks): void {
    const { shades } = this;
    const bins = BINS.queue;
    const later = bins.at(-1)!;
    const { ticket } = blocks;
    for (let b = 0; b < shades.length; b++) shades[b] = Number.isNaN(ticket[b]!) ? 0 : later;
    const head = headOfQueue(blocks, EDGES.queue.at(-1)! - 1);
    for (let i = 0; i < head.length; i++) shades[head[i]!] = bins[i + 1]!;
  }

  private shadeDepths({ blocks, contents }: Fold): void {
    const { shades, depths } = this;
    const { content } = blocks;
    const bins = BINS.depth;
    const far = bins.length - 1;
    depths.missing.clear();
    for (let b = 0; b < shades.length; b++) {
      const at = content[b]!;
      if (at === NONE) shades[b] = 0;
      else {
        const depth = depths.of(at, contents);
        shades[b] = depth === 0 ? UNKNOWN_SHADE : bins[Math.min(far, depth)]!;
      }
    }
  }

  private shadeOwners(fold: Fold, selected: number | null): Shading {
    const { shades, tally } = this;
    const owners = this.owners.find(fold);
    const { count, content } = fold.blocks;
    const owned = new Map<number, number>();
    tally.fill(0);
    for (let b = 0; b < shades.length; b++) {
      const owner = owners[b]!;
      let shade: number;
      if (owner > 0) {
        owned.set(owner - 1, (owned.get(owner - 1) ?? 0) + 1);
        shade = owner - 1 === selected ? Owner.selected : ownerShade(owner - 1);
      } else if (count[b]! > 0) shade = Owner.pinned;
      else shade = content[b] === NONE ? Owner.free : Owner.cached;
      shades[b] = shade;
      if (!isOwner(shade)) tally[shade]!++;
    }
    const list = [...owned].sort(
      ([a, many], [b, more]) => Number(b === selected) - Number(a === selected) || more - many || a - b,
    );
    return {
      colouring: 'owner',
      tally: tally.slice(),
      owners: list.slice(0, MOST_OWNERS).map(([request, blocks]): Owned => ({ request, blocks })),
      ownerCount: list.length,
      selected,
    };
  }
}
