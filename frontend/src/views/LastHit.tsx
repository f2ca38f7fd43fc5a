/** Where a breakpoint of a list was met last, and the way there. */

import type { Hit } from '../ledger/generated/types';
import { goToHit } from '../store/breakpoints';
import { text } from '../text';

const words = text.control;

export function LastHit({ hit, onGo }: { readonly hit: Hit | null | undefined; readonly onGo: () => void }) {
  if (hit == null) return null;
  return (
    <button
      type="button"
      class="link num"
      title={words.lastTitle}
      onClick={() => {
        onGo();
        void goToHit(hit);
      }}
    >
      {words.last(hit)}
    </button>
  );
}
