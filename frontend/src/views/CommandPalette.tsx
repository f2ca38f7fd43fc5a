/** The command palette: a field, and what fits what was typed into it. */

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { choose, type Found, find } from '../store/entries';
import { paletteShown, renderNow } from '../store/layout';
import { listing } from '../store/sessions';
import { text } from '../text';
import { keyName } from './keyName';

const words = text.palette;
const PAGE = 8;

function close(): void {
  renderNow(() => {
    paletteShown.value = false;
  });
}

function run(entry: Found | undefined): void {
  if (entry === undefined || entry.why !== null) return;
  close();
  choose(entry);
}

/** The letters that were found are marked, those that stand together at once. */
function Title({ title, places }: { readonly title: string; readonly places: readonly number[] }) {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (let at = 0; at < places.length; ) {
    const first = places[at]!;
    let end = first;
    while (places[at] === end) {
      at++;
      end++;
    }
    parts.push(title.slice(from, first), <b key={first}>{title.slice(first, end)}</b>);
    from = end;
  }
  return (
    <span class="title">
      {parts}
      {title.slice(from)}
    </span>
  );
}

function Option(props: { readonly entry: Found; readonly at: number; readonly isActive: boolean }) {
  const { entry, at, isActive } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and the keys
    <div
      id={`palette-${at}`}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      aria-disabled={entry.why !== null}
      class={`option${isActive ? ' active' : ''}${entry.why === null ? '' : ' off'}`}
      onClick={() => run(entry)}
    >
      <Title title={entry.title} places={entry.places} />
      <span class="detail">{entry.why ?? (entry.isRecent ? words.recent : entry.detail)}</span>
      <span class="keylist">
        {entry.keys.map((key) => (
          <kbd key={key}>{keyName(key)}</kbd>
        ))}
      </span>
    </div>
  );
}

function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const entries = useMemo(() => find(typed), [typed, listing.value]);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  useEffect(() => {
    list.current?.querySelector('.active')?.scrollIntoView({ block: 'nearest' });
  }, [active, typed]);
  const move = (by: number): void => setActive(Math.max(0, Math.min(entries.length - 1, active + by)));
  const moves: Readonly<Record<string, () => void>> = {
    ArrowDown: () => (active === entries.length - 1 ? setActive(0) : move(1)),
    ArrowUp: () => (active === 0 ? setActive(Math.max(0, entries.length - 1)) : move(-1)),
    PageDown: () => move(PAGE),
    PageUp: () => move(-PAGE),
    Enter: () => run(entries[active]),
    Escape: close,
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={words.title}
      onClose={(event) => event.currentTarget.isConnected && close()}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        const isToggle = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
        const act = isToggle ? close : moves[event.key];
        if (act === undefined || event.isComposing) return;
        event.preventDefault();
        act();
      }}
    >
      <input
        type="text"
        role="combobox"
        aria-label={words.title}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? `palette-${active}` : undefined}
        placeholder={words.hint}
        spellcheck={false}
        autocomplete="off"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setActive(0);
        }}
      />
      <div id="palette-list" class="options" ref={list} role="listbox" aria-label={words.title}>
        {entries.map((entry, at) => (
          <Option key={entry.id} entry={entry} at={at} isActive={at === active} />
        ))}
      </div>
      {entries.length === 0 && (
        <p class="none">
          {words.none(typed)} <span class="dim">{words.noneAdvice}</span>
        </p>
      )}
      <p class="unseen" role="status">
        {words.found(entries.length)}
      </p>
    </dialog>
  );
}

export function CommandPalette() {
  return paletteShown.value ? <Palette /> : null;
}
