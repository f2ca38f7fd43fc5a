/** A field for terms (a filter, a predicate), with what may stand where the caret is, and what is wrong below the character. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type Completion, type Offer, take } from '../filter/complete';
import { integer } from '../format';

/** ms after the last character for which it is on its way to something else. */
const PAUSE = 1200;

interface Props {
  readonly words: Readonly<Record<'label' | 'placeholder' | 'clear' | 'offers' | 'keys', string>>;
  readonly typed: string;
  /** What is wrong at the characters from `at` to `end`. */
  readonly fault: { readonly at: number; readonly end: number; readonly message: string } | null;
  readonly complete: (typed: string, caret: number) => Completion;
  /** What is said beside an offer. */
  readonly note: (offer: Offer) => string | null;
  readonly onType: (typed: string) => void;
  /** It is what somebody wants, and not on its way to that. */
  readonly onSettle?: () => void;
  readonly onEnter?: () => void;
  /** Is it what `/` leads to? */
  readonly isFilter?: boolean;
}

function OfferLine(props: {
  readonly id: string;
  readonly offer: Offer;
  readonly note: string | null;
  readonly isOn: boolean;
  readonly onTake: () => void;
}) {
  const { offer, note, isOn, id, onTake } = props;
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isOn) line.current?.scrollIntoView({ block: 'nearest' });
  }, [isOn]);
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

export function OfferedField(props: Props) {
  const { words, typed, fault } = props;
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const complaint = useId();
  const [completion, setCompletion] = useState<Completion | null>(null);
  const [on, setOn] = useState(-1);
  const offers = completion?.offers ?? [];
  const isOpen = offers.length > 0;
  const isSettling = useRef<ReturnType<typeof setTimeout> | null>(null);

  const settle = (): void => {
    if (isSettling.current !== null) clearTimeout(isSettling.current);
    isSettling.current = null;
    props.onSettle?.();
  };
  const look = (): void => {
    const input = field.current;
    if (input === null || document.activeElement !== input) return;
    setCompletion(props.complete(input.value, input.selectionStart ?? input.value.length));
    setOn(-1);
  };
  const type = (value: string): void => {
    props.onType(value);
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
      props.onEnter?.();
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
        {...(props.isFilter ? { 'data-filter': true } : {})}
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
            props.onType('');
            props.onSettle?.();
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
          {fault.message}
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
                note={props.note(offer)}
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
