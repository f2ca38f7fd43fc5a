/** Above the list of events: its filter, and the ways from the selected event to the next of its block, request or kind. */

import { filterOfSame, type Same, selectedEvent, stepToSame } from '../store/eventSteps';
import { text } from '../text';
import { BreakLikeSelected } from './BreakLike';
import { FilterField } from './FilterField';

const words = text.events;
const SAMES: readonly Same[] = ['block', 'request', 'kind'];
/** The keys of `store/commands.ts` for each. */
const KEYS: Readonly<Record<Same, readonly [string, string]>> = {
  block: ['', ''],
  request: ['', ''],
  kind: ['(', ')'],
};

function Steps({ same }: { readonly same: Same }) {
  const row = selectedEvent.value;
  const isOff = row === null || filterOfSame(row, same) === null;
  const button = (direction: 1 | -1) => {
    const told = words.sameTitle(words.same[same], direction, KEYS[same][direction > 0 ? 1 : 0]);
    return (
      <button
        type="button"
        class="plain"
        disabled={isOff}
        aria-label={told}
        title={row === null ? words.selectFirst : told}
        onClick={() => void stepToSame(same, direction)}
      >
        {direction > 0 ? '›' : '‹'}
      </button>
    );
  };
  return (
    <span class={`same ${isOff ? 'faint' : 'dim'}`}>
      {button(-1)}
      {words.same[same]}
      {button(1)}
    </span>
  );
}

export function EventTools() {
  return (
    <div class="filters">
      <FilterField />
      {SAMES.map((same) => (
        <Steps key={same} same={same} />
      ))}
      <BreakLikeSelected />
    </div>
  );
}
