/** As what a session is to be written, and what is left out. */

import { useState } from 'preact/hooks';
import { bytes, integer } from '../../format';
import { exporting } from '../../store/collection';
import type { SessionInfo } from '../../store/sessions';
import { exportSession, FORMATS, type Format, type Wanted } from '../../store/transfers';
import { text } from '../../text';
import { Dialog } from '../Dialog';

/** A step that is typed; an empty field is null, what is none is undefined. */
function stepOf(said: string): number | null | undefined {
  if (said.trim() === '') return null;
  return /^\d{1,15}$/.test(said.trim()) ? Number(said) : undefined;
}

function Choice({ info, onClose }: { readonly info: SessionInfo; readonly onClose: () => void }) {
  const words = text.exporting;
  const [format, setFormat] = useState<Format>('kvarium');
  const [strip, setStrip] = useState<Wanted['strip']>(null);
  const [said, setSaid] = useState({ from: '', to: '' });
  const [from, to] = [stepOf(said.from), stepOf(said.to)];
  const last = info.last_step ?? 0;
  const isWrong =
    format === 'html' &&
    (from === undefined || to === undefined || (from ?? 0) > Math.min(to ?? last, last) || (to ?? 0) > last);
  const send = (event: Event): void => {
    event.preventDefault();
    if (isWrong) return;
    onClose();
    void exportSession(info, { format, strip, from: from ?? null, to: to ?? null });
  };
  return (
    <form onSubmit={send}>
      <fieldset class="formats">
        <legend class="unseen">{words.format}</legend>
        {FORMATS.map((each) => (
          <label key={each} class={each === format ? 'on' : ''}>
            <input
              type="radio"
              name="format"
              value={each}
              checked={each === format}
              onChange={() => setFormat(each)}
            />
            <b>{text.formats[each].name}</b>
            <span class="dim">{text.formats[each].what}</span>
          </label>
        ))}
      </fieldset>
      {format === 'html' && (
        <p class="part">
          {words.steps}{' '}
          {(['from', 'to'] as const).map((end) => (
            <label key={end}>
              {words[end]}{' '}
              <input
                class="num"
                name={end}
                inputMode="numeric"
                placeholder={integer(end === 'from' ? 0 : last)}
                value={said[end]}
                onInput={(event) => setSaid({ ...said, [end]: event.currentTarget.value })}
              />
            </label>
          ))}
          {isWrong && <span class="red">{words.wrongSteps(last)}</span>}
        </p>
      )}
      <p class="part">
        <label>
          {words.text}{' '}
          <select
            name="strip"
            value={strip ?? 'full'}
            onChange={({ currentTarget: { value } }) =>
              setStrip(value === 'none' || value === 'hash' ? value : null)
            }
          >
            <option value="full">{words.strips.full}</option>
            <option value="hash">{words.strips.hash}</option>
            <option value="none">{words.strips.none}</option>
          </select>
        </label>
      </p>
      <p class="dim">{strip === null ? words.withText : words.withoutText}</p>
      {info.state === 'live' && <p class="dim">{words.soFar}</p>}
      <div class="choices">
        <span class="faint">{words.recorded(bytes(info.stored_bytes ?? info.bytes))}</span>
        <span class="space" />
        <button type="button" class="btn" onClick={onClose}>
          {words.cancel}
        </button>
        <button type="submit" class="btn go" disabled={isWrong}>
          {words.export}
        </button>
      </div>
    </form>
  );
}

export function ExportDialog() {
  const info = exporting.value;
  if (info === null) return null;
  const close = (): void => {
    exporting.value = null;
  };
  return (
    <Dialog title={text.exporting.title(info.name || info.id)} onClose={close}>
      <Choice info={info} onClose={close} />
    </Dialog>
  );
}
