/** On an event: stop the engine where one like it happens again. It opens the breakpoints, with what tells such events. */

import { predicateOf, showBreakpoints, whyNoBreak } from '../store/breakpoints';
import { isEmbedded } from '../store/embedded';
import { selectedEvent } from '../store/eventSteps';
import { text } from '../text';
import type { EventRow } from '../worker/answers/events';

const words = text.control;

/** In a line that tells of the event; only where the engine takes commands. Keys reach it where there is no other way. */
export function BreakLike({ row, byKeys }: { readonly row: EventRow; readonly byKeys: boolean }) {
  if (whyNoBreak(row) !== null) return null;
  const predicate = predicateOf(row)!;
  return (
    <button
      type="button"
      class="plain breaklike"
      tabIndex={byKeys ? 0 : -1}
      aria-label={words.like}
      title={`${words.like}\n${words.likeTitle(predicate)}`}
      onClick={() => showBreakpoints(predicate)}
    >
      ●
    </button>
  );
}

/** Of the event that is selected: says why it can't be done, where it can't. */
export function BreakLikeSelected() {
  if (isEmbedded) return null;
  const row = selectedEvent.value;
  const why = whyNoBreak(row);
  return (
    <button
      type="button"
      class="btn breakselected"
      disabled={why !== null}
      aria-label={words.like}
      title={why === null ? `${words.likeTitle(predicateOf(row!)!)} (b)` : `${words.like} ${why}`}
      onClick={() => showBreakpoints(predicateOf(row!)!)}
    >
      {words.likeShort}
    </button>
  );
}
