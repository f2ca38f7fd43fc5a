/** Nothing is known here of the request that is selected: where the recording tells of it first, and the way there. */

import { useComputed } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { goToEvent } from '../store/eventSteps';
import { findEvent, position } from '../store/ledger';
import { sent } from '../store/playground';
import { selection } from '../store/selection';
import { text } from '../text';
import type { Found } from '../worker/protocol';

const words = text.inspector;

function Elsewhere({ filter }: { readonly filter: string }) {
  const [found, tell] = useState<Found | null>(null);
  // Before a state is there nothing can be looked for, which does not say that there is nothing.
  const isLoaded = useComputed(() => position.value.loaded).value;
  useEffect(() => {
    let isAsked = true;
    tell(null);
    if (!isLoaded) return;
    void findEvent(filter, 'later', { record: 0, index: 0 }).then((told) => {
      if (isAsked) tell(told);
    });
    return () => {
      isAsked = false;
    };
  }, [filter, isLoaded]);
  if (found === null) return <>{words.unknownRequest}</>;
  if ('fault' in found) return <>{found.fault}</>;
  const { row } = found;
  if (row === null) return <>{words.untoldRequest}</>;
  return (
    <>
      {words.unknownRequest}{' '}
      <button type="button" class="link" onClick={() => goToEvent(row)}>
        {words.firstTold(row.step)}
      </button>
    </>
  );
}

export function UnknownRequest() {
  const { request, sequence } = selection.value;
  const isSent = sent.value.some((each) => each.request === request);
  const waits = isSent && position.value.mode === 'follow';
  return (
    <p class="faint quiet" role="status">
      {waits ? (
        words.sentRequest
      ) : (
        <Elsewhere filter={request === null ? `seq:${sequence}` : `owner:r${request}`} />
      )}
    </p>
  );
}
