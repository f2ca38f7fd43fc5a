/** Of what is not at the step that is shown: that, and the way to where the recording tells of it first. */

import { useComputed } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { goToEvent } from '../store/eventSteps';
import { findEvent, position } from '../store/ledger';
import { text } from '../text';
import type { Found } from '../worker/protocol';

const words = text.inspector;

export function Elsewhere({ filter, said }: { readonly filter: string; readonly said: string }) {
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
  if (found === null) return <>{said}</>;
  if ('fault' in found) return <>{found.fault}</>;
  const { row } = found;
  if (row === null) return <>{words.untoldRequest}</>;
  return (
    <>
      {said}{' '}
      <button type="button" class="link" onClick={() => goToEvent(row)}>
        {words.firstTold(row.step)}
      </button>
    </>
  );
}
