/** What the colours of the map mean, and how many blocks each has. */

import { integer } from '../format';
import type { Usage } from '../ledger/fold';
import { colourBy, colouring, colourings, entryOf, light, lit } from '../store/colouring';
import { isContiguous, shading, usage } from '../store/ledger';
import { order, orderBy } from '../store/order';
import { text } from '../text';
import { ORDERS, type Order } from '../worker/order';
import {
  type Colouring,
  EDGES,
  Owner,
  ownerShade,
  type Scaled,
  type Shading,
  UNKNOWN_SHADE,
} from '../worker/shades';
import { nameOf } from './map/colours';
import { type Palette, STATE_COLOURS } from './palette';

const STATES = ['active', 'shared', 'cached', 'free'] as const;

/** What else a cell of the map says, with an example of each. */
export function MapKey() {
  return (
    <>
      <button type="button" class="plain keybutton" popovertarget="map-key" title={text.mapKey.title}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="8" cy="8" r="6.3" fill="none" stroke="currentColor" stroke-width="1.3" />
          <path d="M8 7.2v4.2M8 4.4v1.4" stroke="currentColor" stroke-width="1.6" />
        </svg>
        <span class="unseen">{text.mapKey.title}</span>
      </button>
      <div id="map-key" class="mapkey" popover="auto">
        <p>
          <i class="cell shared">3</i> {text.mapKey.count}
        </p>
        <p>
          <i class="cell active">
            <u />
          </i>{' '}
          {text.mapKey.fill}
        </p>
        {!isContiguous.value && (
          <p>
            <i class="cell cached next" /> {text.mapKey.next}
          </p>
        )}
        <p>
          <i class="cell fresh" /> {text.mapKey.fresh}
        </p>
      </div>
    </>
  );
}

/** An entry of the legend, which lights its blocks alone. */
interface Entry {
  readonly id: number;
  readonly name: string;
  readonly title?: string;
  readonly blocks: number;
  readonly colour: keyof Palette;
  /** It is not told when it has none. */
  readonly isRare?: boolean;
}

function stateEntries(counts: Usage): Entry[] {
  return STATES.map(
    (state): Entry => ({
      id: STATE_COLOURS.indexOf(`s-${state}`),
      name: text.states[state],
      blocks: counts[state],
      colour: `s-${state}`,
    }),
  );
}

function scaleEntries({ tally }: Shading, scale: Scaled): Entry[] {
  const { none, range, unknown, unknownTitle } = text.colouring;
  const edges = EDGES[scale];
  const parts = edges.map(
    (from, i): Entry => ({
      id: i + 1,
      name: range(from, i + 1 < edges.length ? edges[i + 1]! - 1 : null),
      blocks: tally[i + 1]!,
      colour: nameOf(scale, i + 1),
    }),
  );
  const rest: Entry = { id: 0, name: none[scale], blocks: tally[0]!, colour: nameOf(scale, 0) };
  const lost: Entry = {
    id: UNKNOWN_SHADE,
    name: unknown,
    title: unknownTitle[scale],
    blocks: tally[UNKNOWN_SHADE]!,
    colour: 'm-unknown',
    isRare: true,
  };
  // Each block had an operation at some time, or may have had.
  return [...(scale === 'recency' ? [] : [rest]), ...parts, lost];
}

function ownerEntries({ tally, owners, selected }: Shading): Entry[] {
  const words = text.colouring.owners;
  const own = owners.map(
    ({ request, blocks }): Entry => ({
      id: entryOf(request),
      name: words.request(request),
      blocks,
      colour: nameOf('owner', request === selected ? Owner.selected : ownerShade(request)),
    }),
  );
  return [
    { id: Owner.free, name: words.free, blocks: tally[Owner.free]!, colour: 's-free' },
    { id: Owner.cached, name: words.cached, blocks: tally[Owner.cached]!, colour: 's-cached' },
    {
      id: Owner.pinned,
      name: words.pinned,
      title: words.pinnedTitle,
      blocks: tally[Owner.pinned]!,
      colour: 'm-unknown',
      isRare: true,
    },
    ...own,
  ];
}

function entries(told: Shading | null): Entry[] {
  const all =
    told === null
      ? stateEntries(usage.value)
      : told.colouring === 'owner'
        ? ownerEntries(told)
        : scaleEntries(told, told.colouring);
  return all.filter(({ isRare, blocks, id }) => !isRare || blocks > 0 || lit.value?.has(id));
}

export function ColouringField() {
  return (
    <select
      class="colouring"
      aria-label={text.colouring.label}
      title={text.colouring.title}
      value={colouring.value}
      onChange={(event) => colourBy(event.currentTarget.value as Colouring)}
    >
      {colourings.value.map((each) => (
        <option key={each} value={each}>
          {text.colouring.names[each]}
        </option>
      ))}
    </select>
  );
}

export function OrderField() {
  return (
    <select
      class="colouring"
      aria-label={text.order.label}
      title={text.order.title}
      value={order.value}
      onChange={(event) => orderBy(event.currentTarget.value as Order)}
    >
      {ORDERS.map((each) => (
        <option key={each} value={each}>
          {text.order.names[each]}
        </option>
      ))}
    </select>
  );
}

export function Legend() {
  const told = shading.value;
  const list = entries(told);
  const order = list.map(({ id }) => id);
  const others = told?.colouring === 'owner' ? told.ownerCount - told.owners.length : 0;
  const isScale = told !== null && told.colouring !== 'owner';
  return (
    <fieldset
      class={`legend lights${isScale ? ' scale' : ''}`}
      aria-label={text.colouring.names[told?.colouring ?? 'state']}
      title={isScale ? text.colouring.units[told.colouring as Scaled] : undefined}
    >
      {list.map(({ id, name, title, blocks, colour }) => (
        <button
          key={id}
          type="button"
          class={lit.value === null || lit.value.has(id) ? 'plain' : 'plain dimmed'}
          aria-pressed={lit.value?.has(id) ?? false}
          title={`${title === undefined ? '' : `${title}. `}${text.colouring.filter(name, blocks)}`}
          onClick={(event) => light(id, event.shiftKey, order)}
        >
          <i class="swatch" style={{ background: `var(--${colour})` }} />
          {name} <b class="num">{integer(blocks)}</b>
        </button>
      ))}
      {others > 0 && (
        <span class="dim" title={text.colouring.owners.title}>
          {text.colouring.owners.others(others)}
        </span>
      )}
      {told === null && (
        <span class="fresh" title={text.states.freshTitle}>
          <i class="swatch fresh" />
          {text.states.fresh}
        </span>
      )}
    </fieldset>
  );
}
