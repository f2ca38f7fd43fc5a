/** A dialog over the page, open for as long as it is rendered. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface Props {
  readonly title: string;
  /** Its class, `dialog` unless said otherwise. */
  readonly kind?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, kind = 'dialog', onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    // Closed before it goes, it gives the focus back to where that was.
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-label={title}
      // The browser tells of its closing a task later, also of one that is gone: what a key opened since stays open.
      onClose={(event) => event.currentTarget.isConnected && onClose()}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      // Its keys are its own.
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== 'Escape') return;
        event.preventDefault();
        onClose();
      }}
    >
      <h2 class="loud">{title}</h2>
      {children}
    </dialog>
  );
}
