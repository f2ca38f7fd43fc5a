/** What the colours of the map mean, and how many blocks each has. */

import { integer } from '../format';
import { isContiguous, usage } from '../store/ledger';
import { text } from '../text';

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

export function Legend() {
  const counts = usage.value;
  return (
    <div class="legend">
      {STATES.map((state) => (
        <span key={state}>
          <i class={`swatch ${state}`} />
          {text.states[state]} <b class="num">{integer(counts[state])}</b>
        </span>
      ))}
      <span class="fresh" title={text.states.freshTitle}>
        <i class="swatch fresh" />
        {text.states.fresh}
      </span>
    </div>
  );
}
