/** A dialog over the page, open for as long as it is rendered. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    element.showModal();
    // Closed before it goes, it gives the focus back to where that was.
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-label={title}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      // Its keys are its own; Escape closes it.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 class="loud">{title}</h2>
      {children}
    </dialog>
  );
}
