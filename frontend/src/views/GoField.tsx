/** Shows where the view is, and takes where it should be: a step, an operation, a record, a time. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { integer } from '../format';
import { jumpTo } from '../store/clock';
import { type Extent, type Reading, readDestination } from '../store/destination';
import { hello, position } from '../store/ledger';
import { text } from '../text';

const words = text.go;

function extentNow(): Extent {
  const { lastStep, lastRecord, lastOp, lastTime } = position.value;
  return { lastStep, lastRecord, lastOp, lastTime, startUtcUs: hello.value?.utc_us ?? 0 };
}

/** What was typed, as it will be taken, or why it can't be. */
function told(reading: Reading, typed: string, extent: Extent): string {
  return reading.kind === 'nothing'
    ? words.here(position.value.time, extent.startUtcUs)
    : words.told(reading, typed, extent);
}

/** The forms, each with an example from this session. */
function Help({ reading, typed, isRefused }: { reading: Reading; typed: string; isRefused: boolean }) {
  const extent = extentNow();
  const { lastStep, lastRecord, lastOp, lastTime, startUtcUs } = extent;
  const half = (value: number): number => Math.max(0, Math.floor(value / 2));
  const forms = words.forms(half(lastStep), half(lastRecord), half(lastOp), half(lastTime), startUtcUs);
  return (
    <div class="gohelp">
      <p class={isRefused ? 'wrong' : 'reading'} role={isRefused ? 'alert' : 'status'}>
        {told(reading, typed, extent)}
        {reading.kind === 'place' && <span class="faint">{words.enter}</span>}
      </p>
      <dl>
        {forms.map(([example, meaning]) => (
          <div key={meaning}>
            <dt class="num">{example}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

export function GoField() {
  const [typed, setTyped] = useState<string | null>(null);
  /** What was typed before, as Enter refused it. */
  const [refused, setRefused] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  /** Has nothing been typed since it got the focus? */
  const isFresh = useRef(false);
  const { step, target, lastStep, mode, within, operation } = position.value;
  const shown = mode === 'follow' ? step : (target ?? step);
  const said = typed ?? '';
  const own = shown < 0 ? '' : String(shown);
  // What stands there at first was not typed.
  const reading: Reading = said === own ? { kind: 'nothing' } : readDestination(said, extentNow());
  const isRefused = refused !== null && refused === said && reading.kind === 'wrong';
  useEffect(() => {
    if (typed === null) setRefused(null);
  }, [typed]);
  const commit = (): void => {
    if (reading.kind === 'wrong') {
      setRefused(said);
      field.current?.select();
      return;
    }
    if (reading.kind === 'place') jumpTo(reading.to);
    field.current?.blur();
  };
  return (
    <label class={`gofield${isRefused ? ' refused' : ''}`} title={typed === null ? `${words.title} (g)` : ''}>
      {text.bar.step}
      <input
        ref={field}
        class="num"
        data-panel="go"
        spellcheck={false}
        autocomplete="off"
        aria-label={words.title}
        aria-invalid={isRefused}
        value={typed ?? (shown < 0 ? '–' : integer(shown))}
        onFocus={(event) => {
          const input = event.currentTarget;
          setTyped(own);
          // Selected at once, for who types on; and after a click, which puts the caret somewhere.
          input.value = own;
          input.select();
          isFresh.current = true;
          setTimeout(() => isFresh.current && input.select());
        }}
        onInput={(event) => {
          isFresh.current = false;
          setTyped(event.currentTarget.value);
        }}
        onBlur={() => setTyped(null)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') commit();
          if (event.key === 'Escape') field.current?.blur();
        }}
      />
      <span class="num faint last">/ {integer(Math.max(0, lastStep))}</span>
      {within !== null && (
        <span
          class="num within"
          data-testid="within"
          title={text.transport.withinTitle(within.done, within.of, operation ?? 0)}
        >
          {text.transport.within(within.done, within.of)}
        </span>
      )}
      {typed !== null && <Help reading={reading} typed={said} isRefused={isRefused} />}
    </label>
  );
}
