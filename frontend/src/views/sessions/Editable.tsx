/** A line of text that is written where it stands: Enter or leaving it keeps it, Escape does not. */

import { useLayoutEffect, useRef } from 'preact/hooks';

interface Props {
  readonly value: string;
  readonly label: string;
  readonly placeholder: string;
  readonly most: number;
  /** null: as it was. */
  readonly onEnd: (value: string | null) => void;
}

export function Editable({ value, label, placeholder, most, onEnd }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const ended = useRef(false);
  useLayoutEffect(() => field.current?.select(), []);
  const end = (said: string | null): void => {
    // Enter takes the field away, and so the focus from it.
    if (ended.current) return;
    ended.current = true;
    onEnd(said);
  };
  return (
    <input
      ref={field}
      class="editable"
      aria-label={label}
      placeholder={placeholder}
      maxLength={most}
      defaultValue={value}
      onBlur={(event) => end(event.currentTarget.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') end(event.currentTarget.value);
        else if (event.key === 'Escape') end(null);
      }}
    />
  );
}
