/** Nothing is known here of the request that is selected. */

import { position } from '../store/ledger';
import { sent } from '../store/playground';
import { selection } from '../store/selection';
import { text } from '../text';
import { Elsewhere } from './Elsewhere';

const words = text.inspector;

export function UnknownRequest() {
  const { request, sequence } = selection.value;
  const isSent = sent.value.some((each) => each.request === request);
  const waits = isSent && position.value.mode === 'follow';
  return (
    <p class="faint quiet" role="status">
      {waits ? (
        words.sentRequest
      ) : (
        <Elsewhere
          filter={request === null ? `seq:${sequence}` : `owner:r${request}`}
          said={words.unknownRequest}
        />
      )}
    </p>
  );
}
