/** The breakpoints of a session that has ended: what was set, how often it was met, and each to be set again. */

import { recorded, setAgain, target } from '../store/recordedBreakpoints';
import { text } from '../text';
import { Dialog } from './Dialog';
import { LastHit } from './LastHit';

const words = text.control;

function close(): void {
  recorded.value = null;
}

function List() {
  const told = recorded.value!;
  const on = target.value;
  if (told.state === 'asking') return <p class="faint">{words.asking}</p>;
  if (told.state === 'failed') return <p class="red">{words.notTold(told.why)}</p>;
  if (told.breakpoints.length === 0) return <p class="faint">{words.noneRecorded}</p>;
  return (
    <ul class="breaklist" aria-label={words.list}>
      {told.breakpoints.map((each) => (
        <li key={each.id} class={each.enabled ? '' : 'faint'}>
          <span class="num dim">{each.id}</span>
          {each.when === null ? (
            <span class="faint when">{words.notRecorded}</span>
          ) : (
            <code title={each.when}>{each.when}</code>
          )}
          {!each.enabled && <span>{words.off}</span>}
          <span class={each.mark ? 'dim' : 'stops'}>{words.does(each)}</span>
          <span class="num dim">{words.met(each)}</span>
          <LastHit hit={each.last} onGo={close} />
          <button
            type="button"
            class="btn"
            disabled={on === null || each.when === null}
            title={on === null ? words.noTarget : words.againTitle(on.name || on.id)}
            onClick={() => void setAgain(each, on!)}
          >
            {words.again}
          </button>
        </li>
      ))}
    </ul>
  );
}

export function RecordedBreakpoints() {
  if (recorded.value === null) return null;
  return (
    <Dialog title={words.recordedTitle} kind="dialog breakpoints" onClose={close}>
      <List />
    </Dialog>
  );
}
