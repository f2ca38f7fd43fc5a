/** What the colours of the map mean, and how many blocks each has. */

import { integer } from '../format';
import { usage } from '../store/ledger';
import { text } from '../text';

const STATES = ['active', 'shared', 'cached', 'free'] as const;

/** What else a cell of the map says, with an example of each. */
function Key() {
  return (
    <>
      <button type="button" class="plain keybutton" popovertarget="map-key" title={text.mapKey.title}>
        ⓘ<span class="unseen">{text.mapKey.title}</span>
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
        <p>
          <i class="cell cached next" /> {text.mapKey.next}
        </p>
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
      <Key />
    </div>
  );
}
