/** The field for the filter of events, with what may stand where the caret is. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type Completion, complete, type Offer, type Offered, take } from '../filter/complete';
import { integer } from '../format';
import { filterFault, recentFilters, settleFilter, typedFilter, typeFilter } from '../store/eventFilter';
import { events, tables } from '../store/ledger';
import { text } from '../text';

const words = text.filter;
/** ms after the last character for which it is on its way to something else. */
const PAUSE = 1200;

/** What is known to be offered: of this session, and of this reader. */
function offeredNow(): Offered {
  const owners = new Set<string>();
  for (const row of tables.peek()?.rows ?? []) owners.add(`r${row.request}`).add(row.name);
  for (const { label } of events.peek()?.rows ?? [])
    if (/^r\d/.test(label)) owners.add(label.replace(/\..*/, ''));
  return { counts: events.peek()?.counts ?? {}, owners: [...owners], recent: recentFilters.peek() };
}

function OfferLine(props: {
  readonly id: string;
  readonly offer: Offer;
  readonly isOn: boolean;
  readonly onTake: () => void;
}) {
  const { offer, isOn, id, onTake } = props;
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isOn) line.current?.scrollIntoView({ block: 'nearest' });
  }, [isOn]);
  const note =
    offer.kind === 'recent' ? words.recent : offer.kind === 'field' ? words.fields[offer.field!] : null;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the option that is on
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
    <div
      ref={line}
      id={id}
      role="option"
      aria-selected={isOn}
      class={`offer ${isOn ? 'on' : ''}`}
      onPointerDown={(event) => event.preventDefault()}
      onClick={onTake}
    >
      <span class={`num said ${offer.field === 'op' && offer.kind === 'value' ? `k-${offer.insert}` : ''}`}>
        {offer.insert}
      </span>
      {note !== null && <span class="dim why">{note}</span>}
      {offer.count !== null && <span class="num dim count">{integer(offer.count)}</span>}
    </div>
  );
}

export function FilterField() {
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const complaint = useId();
  const [completion, setCompletion] = useState<Completion | null>(null);
  const [on, setOn] = useState(-1);
  const typed = typedFilter.value;
  const fault = filterFault.value;
  const offers = completion?.offers ?? [];
  const isOpen = offers.length > 0;
  const isSettling = useRef<ReturnType<typeof setTimeout> | null>(null);

  const settle = (): void => {
    if (isSettling.current !== null) clearTimeout(isSettling.current);
    isSettling.current = null;
    settleFilter();
  };
  const look = (): void => {
    const input = field.current;
    if (input === null || document.activeElement !== input) return;
    setCompletion(complete(input.value, input.selectionStart ?? input.value.length, offeredNow()));
    setOn(-1);
  };
  const type = (value: string): void => {
    typeFilter(value);
    if (isSettling.current !== null) clearTimeout(isSettling.current);
    isSettling.current = setTimeout(settle, PAUSE);
  };
  const choose = (offer: Offer): void => {
    const input = field.current;
    if (completion === null || input === null) return;
    const taken = take(input.value, completion, offer);
    type(taken.text);
    input.value = taken.text;
    input.setSelectionRange(taken.caret, taken.caret);
    look();
  };
  const close = (): void => {
    setCompletion(null);
    setOn(-1);
  };
  useEffect(
    () => () => {
      if (isSettling.current !== null) clearTimeout(isSettling.current);
    },
    [],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault();
      if (!isOpen) look();
      else setOn((on + (key === 'ArrowDown' ? 1 : offers.length + (on < 0 ? 0 : -1))) % offers.length);
    } else if ((key === 'Tab' && !event.shiftKey && isOpen && typed !== '') || (key === 'Enter' && on >= 0)) {
      const offer = offers[Math.max(0, on)];
      if (offer === undefined) return;
      event.preventDefault();
      choose(offer);
    } else if (key === 'Enter') {
      settle();
      close();
    } else if (key === 'Escape' && isOpen) {
      close();
      // Where nothing is typed, the same key leaves the field.
      if (typed === '') return;
      event.preventDefault();
      event.stopPropagation();
    }
  };
  return (
    <div class={`filterbox ${fault === null ? '' : 'wrong'}`}>
      <input
        ref={field}
        class="num"
        data-filter
        role="combobox"
        aria-label={words.label}
        aria-expanded={isOpen}
        aria-controls={list}
        aria-autocomplete="list"
        {...(on >= 0 ? { 'aria-activedescendant': `${list}-${on}` } : {})}
        aria-invalid={fault !== null}
        {...(fault !== null ? { 'aria-errormessage': complaint } : {})}
        placeholder={words.placeholder}
        spellcheck={false}
        autocomplete="off"
        value={typed}
        onInput={(event) => {
          type(event.currentTarget.value);
          look();
        }}
        onFocus={look}
        onClick={look}
        onKeyDown={onKeyDown}
        onBlur={() => {
          settle();
          close();
        }}
      />
      {typed !== '' && (
        <button
          type="button"
          class="plain clear"
          aria-label={words.clear}
          title={words.clear}
          onClick={() => {
            typeFilter('');
            settleFilter();
            field.current?.focus();
          }}
        >
          ×
        </button>
      )}
      {/* Not while the word is still being typed that is not known yet. */}
      {fault !== null && !isOpen && (
        <p class="fault" id={complaint} role="alert">
          <span class="num" aria-hidden="true">
            <span class="ahead">{typed.slice(0, fault.at)}</span>
            <u>{typed.slice(fault.at, Math.max(fault.end, fault.at + 1)) || ' '}</u>
          </span>
          {words.fault(fault)}
        </p>
      )}
      {isOpen && (
        <div class="offers">
          <div role="listbox" id={list} aria-label={words.offers}>
            {offers.map((offer, i) => (
              <OfferLine
                key={`${offer.kind} ${offer.insert}`}
                id={`${list}-${i}`}
                offer={offer}
                isOn={i === on}
                onTake={() => choose(offer)}
              />
            ))}
          </div>
          <p class="faint">{words.keys}</p>
        </div>
      )}
    </div>
  );
}
