/** The link to what is shown, to be copied by hand where the clipboard can't be used. */

import { linkToCopy } from '../store/share';
import { text } from '../text';
import { Dialog } from './Dialog';

const words = text.share;

function close(): void {
  linkToCopy.value = null;
}

export function ShareField() {
  const link = linkToCopy.value;
  if (link === null) return null;
  return (
    <Dialog title={words.title} kind="share" onClose={close}>
      <input
        type="text"
        class="num"
        aria-label={words.title}
        readOnly
        value={link}
        // The dialog gives it the focus, as the first that can have it.
        onFocus={(event) => event.currentTarget.select()}
      />
      <p class="dim">
        {words.refused}
        <button type="button" class="btn" onClick={close}>
          {words.close}
        </button>
      </p>
    </Dialog>
  );
}
