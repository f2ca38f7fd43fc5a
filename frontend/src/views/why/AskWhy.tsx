/** Beside what somebody may wonder about: the question why. */

import { pose } from '../../store/why';
import type { Kind, Question } from '../../store/whyQuestion';
import { text } from '../../text';

export function AskWhy({ kind, ask }: { readonly kind: Kind; readonly ask: () => Question }) {
  return (
    <button
      type="button"
      class="link askwhy"
      aria-label={text.why.askOf[kind]}
      title={text.why.askOf[kind]}
      onClick={() => pose(ask())}
    >
      {text.why.ask}
    </button>
  );
}
