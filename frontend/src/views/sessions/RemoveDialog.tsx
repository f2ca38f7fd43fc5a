/** Asks once before a session goes: what goes, what that frees, and that it does not come back. */

import { bytes, integer, moment, short } from '../../format';
import { exporting, remove, removing, sketches } from '../../store/collection';
import { text } from '../../text';
import { Dialog } from '../Dialog';

export function RemoveDialog() {
  const info = removing.value;
  if (info === null) return null;
  const words = text.removal;
  const close = (): void => {
    removing.value = null;
  };
  const notes = sketches.value.get(info.id)?.notes ?? 0;
  return (
    <Dialog title={words.title(info.name || info.id)} onClose={close}>
      <p>{words.what(integer(info.steps), short(info.operations), moment(info.started_utc_us), notes)}</p>
      <p>{info.imported === true ? words.freesFile : words.frees(bytes(info.stored_bytes ?? info.bytes))}</p>
      <p class="warn">{words.forGood}</p>
      <div class="choices">
        <button
          type="button"
          class="plain"
          onClick={() => {
            close();
            exporting.value = info;
          }}
        >
          {words.exportFirst}
        </button>
        <span class="space" />
        {/* biome-ignore lint/a11y/noAutofocus: what does no harm has the focus */}
        <button type="button" class="btn" autoFocus onClick={close}>
          {words.keep}
        </button>
        <button
          type="button"
          class="btn danger"
          onClick={() => {
            close();
            void remove(info);
          }}
        >
          {words.remove}
        </button>
      </div>
    </Dialog>
  );
}
