/** The link to what is shown, to be copied by hand where the clipboard can't be used. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { linkToCopy } from '../store/share';
import { text } from '../text';

const words = text.share;

function close(): void {
  linkToCopy.value = null;
}

function Field({ link }: { readonly link: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    field.current?.select();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="share"
      aria-label={words.title}
      onClose={close}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2>{words.title}</h2>
      <input
        ref={field}
        type="text"
        class="num"
        aria-label={words.title}
        readOnly
        value={link}
        onFocus={(event) => event.currentTarget.select()}
      />
      <p class="dim">
        {words.refused}
        <button type="button" class="btn" onClick={close}>
          {words.close}
        </button>
      </p>
    </dialog>
  );
}

export function ShareField() {
  const link = linkToCopy.value;
  return link === null ? null : <Field link={link} />;
}
