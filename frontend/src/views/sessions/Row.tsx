/** A session in the list. */

import { bytes, integer, moment, short } from '../../format';
import { chosen, edited, exporting, removing, rename, sketches, writeNote } from '../../store/collection';
import { onlyRead, openSession, type SessionInfo } from '../../store/sessions';
import { text } from '../../text';
import { Curve } from './Curve';
import { Editable } from './Editable';

/** What the server takes. */
const LONGEST_NAME = 200;
const LONGEST_NOTE = 10_000;

/** Why a session's name and note can't be changed; null: they can. */
export function whyFixed(info: SessionInfo): string | null {
  return info.imported === true ? text.sessions.importedFixed : onlyRead.value;
}

/** Why it can't be removed; null: it can. */
export function whyStays(info: SessionInfo): string | null {
  if (info.state === 'live') return text.sessions.liveStays;
  return info.imported === true ? null : onlyRead.value;
}

/** Why it can have no note; null: it can. */
export function whyNoNote(info: SessionInfo): string | null {
  return whyFixed(info) ?? (info.steps === 0 ? text.sessions.noStepNote : null);
}

/** Put the focus back on the row, so that the keys go on from there. */
function backToRow(id: string): void {
  queueMicrotask(() => document.getElementById(`session-${id}`)?.focus({ preventScroll: true }));
}

function Name({ info }: { readonly info: SessionInfo }) {
  const name = info.name || info.id;
  const isEdited = edited.value?.id === info.id && edited.value.what === 'name';
  const why = whyFixed(info);
  if (isEdited) {
    return (
      <Editable
        value={info.name}
        label={text.sessions.renameOf(name)}
        placeholder={info.id.slice(0, 8)}
        most={LONGEST_NAME}
        onEnd={(said) => {
          edited.value = null;
          backToRow(info.id);
          if (said !== null) void rename(info, said);
        }}
      />
    );
  }
  return (
    <>
      <button
        type="button"
        class="link name"
        tabIndex={-1}
        aria-label={text.sessions.open(name)}
        title={name}
        onClick={() => openSession(info, null)}
      >
        <b>{name}</b>
      </button>
      <span class="faint num id">{info.name ? info.id.slice(0, 8) : ''}</span>
      {info.imported === true && <span class="pill tag">{text.sessions.imported}</span>}
      <button
        type="button"
        class="plain edit"
        tabIndex={-1}
        disabled={why !== null}
        title={why ?? text.sessions.renameTitle}
        aria-label={text.sessions.renameOf(name)}
        onClick={() => {
          edited.value = { id: info.id, what: 'name' };
        }}
      >
        ✎
      </button>
    </>
  );
}

function Remark({ info }: { readonly info: SessionInfo }) {
  const sketch = sketches.value.get(info.id);
  const said = sketch?.note?.text ?? '';
  const name = info.name || info.id;
  const why = whyNoNote(info);
  if (edited.value?.id === info.id && edited.value.what === 'note') {
    return (
      <Editable
        value={said}
        label={text.sessions.noteOf(name)}
        placeholder={text.sessions.notePlaceholder}
        most={LONGEST_NOTE}
        onEnd={(note) => {
          edited.value = null;
          backToRow(info.id);
          if (note !== null) void writeNote(info, note);
        }}
      />
    );
  }
  const more = (sketch?.notes ?? 0) - 1;
  const shown = said || (why === null ? text.sessions.addNote : '');
  return (
    <button
      type="button"
      class={`plain remark${said === '' ? ' none' : ''}`}
      tabIndex={-1}
      disabled={why !== null}
      title={
        why ?? (said === '' ? text.sessions.addNoteTitle : text.sessions.noteTitle(said, sketch!.note!.step))
      }
      aria-label={`${text.sessions.noteOf(name)}: ${shown}`}
      onClick={() => {
        edited.value = { id: info.id, what: 'note' };
      }}
    >
      <span>{shown}</span>
      {more > 0 && <span class="faint"> {text.sessions.moreNotes(more)}</span>}
    </button>
  );
}

function State({ info }: { readonly info: SessionInfo }) {
  const faults = text.sessions.faults(info.gaps, info.violations);
  const isWaiting = info.state === 'live' && !info.linked;
  return (
    <td>
      <span
        class={`pill badge ${isWaiting ? 'lost' : info.state}`}
        title={isWaiting ? text.bar.engineGoneTitle : undefined}
      >
        {isWaiting ? text.sessions.states.waiting : text.sessions.states[info.state]}
      </span>
      {faults !== '' && <div class="red">{faults}</div>}
    </td>
  );
}

export function Row({ info, isFirst }: { readonly info: SessionInfo; readonly isFirst: boolean }) {
  const name = info.name || info.id;
  const isChosen = chosen.value === info.id;
  const stored = info.stored_bytes ?? info.bytes;
  const isModel = info.model !== '' && info.model !== 'none';
  const why = whyStays(info);
  return (
    // The whole row opens; who comes by keyboard goes through the rows by the arrows, and opens with Enter.
    <tr
      id={`session-${info.id}`}
      tabIndex={isChosen || (chosen.value === null && isFirst) ? 0 : -1}
      aria-current={isChosen}
      onFocus={() => {
        chosen.value = info.id;
      }}
      onClick={(event) => {
        if ((event.target as Element).closest('button, input') === null) openSession(info, null);
      }}
    >
      <td class="what">
        <div class="titled">
          <Name info={info} />
        </div>
        <Remark info={info} />
      </td>
      <State info={info} />
      <td class="fullness">
        <Curve sketch={sketches.value.get(info.id)} />
      </td>
      <td>
        <div>{isModel ? info.model : text.sessions.runner(info.runner)}</div>
        <div class="faint">{[info.engine, info.device].filter(Boolean).join(' · ')}</div>
      </td>
      <td class="num right">
        {integer(info.num_blocks)} × {info.block_size}
      </td>
      <td class="num right">{integer(info.steps)}</td>
      <td class="num right" title={integer(info.operations)}>
        {short(info.operations)}
      </td>
      <td class="num right">{text.sessions.length(info.duration_ns)}</td>
      <td class="num right" title={text.sessions.sizes(bytes(stored), bytes(info.bytes))}>
        {bytes(stored)}
      </td>
      <td class="num">{moment(info.started_utc_us)}</td>
      <td class="acts">
        <button
          type="button"
          class="plain"
          tabIndex={-1}
          title={text.sessions.exportTitle}
          aria-label={text.sessions.exportOf(name)}
          onClick={() => {
            exporting.value = info;
          }}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11" />
          </svg>
        </button>
        <button
          type="button"
          class="plain"
          tabIndex={-1}
          disabled={why !== null}
          title={why ?? text.sessions.removeTitle}
          aria-label={text.sessions.removeOf(name)}
          onClick={() => {
            removing.value = info;
          }}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4M6.7 6.5v4.5M9.3 6.5v4.5" />
          </svg>
        </button>
      </td>
    </tr>
  );
}
