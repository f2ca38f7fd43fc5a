/** What the colours of the map mean, and how many blocks each has. */

import { integer } from '../format';
import { usage } from '../store/ledger';
import { text } from '../text';

const STATES = ['active', 'shared', 'cached', 'free'] as const;

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
      <span class="fresh">
        <i class="swatch fresh" />
        {text.states.fresh}
      </span>
    </div>
  );
}
