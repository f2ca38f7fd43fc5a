/** Files on their way, in a corner of the page. */

import { useEffect, useReducer } from 'preact/hooks';
import { bytes, percent } from '../../format';
import { known } from '../../store/collection';
import { openSession } from '../../store/sessions';
import { dismiss, type Transfer, transfers } from '../../store/transfers';
import { text } from '../../text';

function stateOf({ kind, state, done, total, began, reason }: Transfer): string {
  const words = text.transfers;
  if (state === 'failed') return reason;
  if (state === 'done') return kind === 'import' ? words.imported : words.saved(bytes(total));
  if (state === 'moving') return words.moving(bytes(done), bytes(total), percent(done, total, 0));
  return words[state](Math.floor((performance.now() - began) / 1000));
}

function Line({ transfer }: { readonly transfer: Transfer }) {
  const { number, kind, state, name, done, total, session } = transfer;
  const [, again] = useReducer((count: number) => count + 1, 0);
  const isBusy = state === 'making' || state === 'checking';
  useEffect(() => {
    if (!isBusy) return;
    const timer = setInterval(() => again(undefined as never), 1000);
    return () => clearInterval(timer);
  }, [isBusy]);
  const isUnderWay = state !== 'done' && state !== 'failed';
  const came = known.value.find((each) => each.id === session);
  return (
    <li class={state} role={state === 'failed' ? 'alert' : 'status'}>
      <div class="titled">
        <b>{kind === 'import' ? text.transfers.importOf(name) : name}</b>
        <span class="space" />
        {came !== undefined && (
          <button type="button" class="link" onClick={() => openSession(came, null)}>
            {text.stage.openIt}
          </button>
        )}
        <button
          type="button"
          class="plain"
          aria-label={isUnderWay ? text.transfers.cancel(name) : text.stage.dismiss}
          onClick={() => dismiss(number)}
        >
          ✕
        </button>
      </div>
      <p class={state === 'failed' ? 'red' : 'dim'}>{stateOf(transfer)}</p>
      {isUnderWay && (
        <div class={`track${isBusy ? ' busy' : ''}`}>
          <span style={{ width: isBusy ? '100%' : `${total > 0 ? (100 * done) / total : 0}%` }} />
        </div>
      )}
    </li>
  );
}

export function Transfers() {
  if (transfers.value.length === 0) return null;
  return (
    <ul class="transfers" aria-label={text.transfers.title}>
      {transfers.value.map((transfer) => (
        <Line key={transfer.number} transfer={transfer} />
      ))}
    </ul>
  );
}
