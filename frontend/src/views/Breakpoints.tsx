/** Where the engine stops, up to which step it runs, and how fast. */

import { useEffect, useRef, useState } from 'preact/hooks';
import {
  breakpoints,
  breakpointsShown,
  completePredicate,
  enableBreakpoint,
  predicateFault,
  removeBreakpoint,
  runTo,
  setBreakpoint,
  slowDown,
  typedPredicate,
  typePredicate,
} from '../store/breakpoints';
import { health, position } from '../store/ledger';
import { text } from '../text';
import { Dialog } from './Dialog';
import { offeredNow } from './FilterField';
import { LastHit } from './LastHit';
import { OfferedField } from './OfferedField';

const words = text.control;
const NOTES: Readonly<Record<string, string>> = words.conditions;

/** What is wrong, at its character; of what could not be checked only that. */
function faultShown() {
  const fault = predicateFault.value;
  if (fault === null) return null;
  const { at, end, message } = fault;
  return at === null ? { at: 0, end, message } : { at, end, message: words.fault(at, message) };
}

function SetBreakpoint() {
  const [hits, setHits] = useState(1);
  const [mark, setMark] = useState(false);
  const form = useRef<HTMLDivElement>(null);
  const set = (): void => void setBreakpoint(hits, mark);
  useEffect(() => {
    const input = form.current?.querySelector('input');
    input?.focus();
    input?.select();
  }, []);
  return (
    <div class="setbreak" ref={form}>
      <OfferedField
        words={{ ...words, label: words.predicate }}
        typed={typedPredicate.value}
        fault={faultShown()}
        complete={(typed, caret) => completePredicate(typed, caret, offeredNow())}
        note={({ kind, field, insert }) =>
          kind !== 'field' ? null : field === null ? (NOTES[insert] ?? null) : text.filter.fields[field]
        }
        onType={typePredicate}
        onEnter={set}
      />
      <label title={words.hitsTitle}>
        {words.hits}
        <input
          class="num"
          type="number"
          min={1}
          value={hits}
          onInput={(event) => setHits(Math.max(1, Math.floor(Number(event.currentTarget.value)) || 1))}
        />
      </label>
      <label title={words.markTitle}>
        <input type="checkbox" checked={mark} onChange={(event) => setMark(event.currentTarget.checked)} />
        {words.mark}
      </label>
      <button type="button" class="btn go" onClick={set} disabled={typedPredicate.value.trim() === ''}>
        {words.set}
      </button>
    </div>
  );
}

function close(): void {
  breakpointsShown.value = false;
}

function List() {
  if (breakpoints.value.length === 0) return <p class="faint">{words.none}</p>;
  return (
    <ul class="breaklist" aria-label={words.list}>
      {breakpoints.value.map((each) => (
        <li key={each.id} class={each.enabled === false ? 'faint' : ''}>
          <input
            type="checkbox"
            checked={each.enabled !== false}
            aria-label={words.enable(each.when)}
            title={words.enable(each.when)}
            onChange={(event) => void enableBreakpoint(each.id, event.currentTarget.checked)}
          />
          <span class="num dim">{each.id}</span>
          <code>{each.when}</code>
          <span class={each.mark ? 'dim' : 'stops'}>{words.does(each)}</span>
          <span class="num dim">{words.met(each)}</span>
          <LastHit hit={each.last} onGo={close} />
          <button
            type="button"
            class="plain"
            aria-label={words.remove(each.when)}
            title={words.remove(each.when)}
            onClick={() => void removeBreakpoint(each.id)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** A number that is sent with Enter or its button. */
function Sent(props: {
  readonly label: string;
  readonly button: string;
  readonly placeholder: string;
  readonly most: 'step' | 'rate';
  readonly onSend: (value: number) => void;
}) {
  const [typed, setTyped] = useState('');
  const value = Number(typed);
  const isRight =
    typed.trim() !== '' && (props.most === 'step' ? Number.isInteger(value) && value >= 0 : value > 0);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isRight) props.onSend(value);
      }}
    >
      <label>
        {props.label}
        <input
          class="num"
          inputMode="decimal"
          placeholder={props.placeholder}
          value={typed}
          aria-invalid={typed.trim() !== '' && !isRight}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="btn" disabled={!isRight}>
        {props.button}
      </button>
    </form>
  );
}

export function Breakpoints() {
  if (!breakpointsShown.value) return null;
  const slow = health.value?.slow ?? null;
  return (
    <Dialog title={words.title} kind="dialog breakpoints" onClose={close}>
      <SetBreakpoint />
      <List />
      <div class="drive">
        <Sent
          label={words.runTo}
          button={words.go}
          placeholder={String(position.value.lastStep + 100)}
          most="step"
          onSend={(step) => void runTo(step)}
        />
        <Sent
          label={words.rate}
          button={words.slowDown}
          placeholder={slow === null ? words.unlimited : String(slow)}
          most="rate"
          onSend={(rate) => void slowDown(rate)}
        />
        <button type="button" class="btn" disabled={slow === null} onClick={() => void slowDown(null)}>
          {words.fullSpeed}
        </button>
      </div>
    </Dialog>
  );
}
