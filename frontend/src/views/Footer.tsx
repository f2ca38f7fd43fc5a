/** One line of what can be trusted and how it goes. */

import { computed } from '@preact/signals';
import { bytes, integer, moment, percent, short } from '../format';
import { embedded, heldAnswers as held } from '../store/embedded';
import { keysShown } from '../store/layout';
import {
  asked,
  awaitsFirstStep,
  gaps,
  health,
  isLive,
  lag,
  light,
  link,
  mode,
  status,
  stored,
} from '../store/ledger';
import { current, fileSize, loadFileSize } from '../store/sessions';
import { text } from '../text';
import { hasWallClock, sessionTime, wallClock } from './timeText';

/** Another with each view, in words. */
const lagTold = computed(() => (lag.value === null ? '—' : `${integer(Math.max(0, lag.value))} ms`));

function Mirror() {
  const { colour, record } = light.value;
  const word =
    colour === 'green'
      ? text.footer.verified
      : colour === 'red'
        ? text.footer.wrong
        : awaitsFirstStep.value
          ? text.footer.waiting
          : text.footer.unverified;
  return (
    <span>
      {text.footer.mirror} <b class={colour}>{word}</b> {record !== null && text.footer.atRecord(record)}
    </span>
  );
}

export function Footer() {
  const from = status.value;
  const info = current.value;
  const live = isLive.value;
  /** Health is the engine's, now; it says nothing once nobody tells it. */
  const told = link.value === 'open' && status.value?.linked !== false ? health.value : null;
  const own = mode.value === 'follow' ? '' : `${text.footer.engine} `;
  const away = told === null ? 'away' : '';
  const lost = Math.max(gaps.value, told?.gaps ?? 0, info?.gaps ?? 0);
  const name = from?.recording || info?.name || '';
  const size = stored.value ?? info?.stored_bytes ?? info?.bytes ?? 0;
  const ledger =
    told !== null && told.ledger_ns !== undefined && (told.step_ns ?? 0) > 0
      ? percent(told.ledger_ns, told.step_ns!, 2)
      : null;
  return (
    <footer class="footer num">
      <Mirror />
      <span class="clock">
        {text.footer.clock} <b>{sessionTime}</b>
        {hasWallClock.value && <span title={text.timeline.wallClock}> · {wallClock}</span>}
      </span>
      {live && (
        <span class={away} title={text.footer.operationsTitle}>
          {own}
          {text.footer.operations} <b>{told === null ? '—' : `${short(told.operations_per_s ?? 0)}/s`}</b>
        </span>
      )}
      {live && (
        <span class={away} title={text.footer.lagTitle}>
          {own}
          {text.footer.lag} <b>{told === null ? '—' : lagTold}</b>
        </span>
      )}
      {live && told !== null && (told.prefix_cache_queries ?? 0) > 0 && (
        <span title={text.footer.hitsTitle(told.prefix_cache_hits ?? 0, told.prefix_cache_queries ?? 0)}>
          {own}
          {text.footer.hits} <b>{percent(told.prefix_cache_hits ?? 0, told.prefix_cache_queries!, 1)}</b>
        </span>
      )}
      {live && (!asked.value.text || asked.value.rate !== null) && (
        <span title={text.footer.lessTitle} data-testid="asked">
          {text.footer.less}{' '}
          {[
            ...(asked.value.text ? [] : [text.footer.noText]),
            ...(asked.value.rate === null ? [] : [text.footer.rate(asked.value.rate)]),
          ].join(', ')}
        </span>
      )}
      <span>
        {text.footer.gaps} <b class={lost > 0 ? 'red' : ''}>{integer(lost)}</b>
      </span>
      {live && ledger !== null && (
        <span>
          {text.footer.ledger} <b>{ledger}</b> {text.footer.ofStep}
        </span>
      )}
      {embedded !== null && embedded.part !== null && (
        <span>
          {text.footer.part(embedded.part.from_step, embedded.part.to_step, embedded.part.last_step)}
        </span>
      )}
      {held !== null && held.of > 0 && (
        <span title={text.footer.answersTitle(held.kinds)} data-testid="answers">
          {text.footer.answers(held.answered, held.of)}
        </span>
      )}
      <span class="recording">
        {from?.recording_error != null ? (
          <b class="red" title={from.recording_error}>
            {text.footer.recordingError}
          </b>
        ) : (
          <>
            {text.footer.recording} <b title={name}>{name.split('/').at(-1)}</b>{' '}
            {embedded !== null && text.footer.exported(moment(embedded.exported_utc_us), embedded.kvarium)}
            {size > 0 && embedded === null && (
              <span
                title={text.footer.sizeTitle(fileSize.value === null ? null : bytes(fileSize.value))}
                data-testid="stored"
                onPointerEnter={() => void loadFileSize()}
              >
                {bytes(size)}
              </span>
            )}
          </>
        )}
      </span>
      {from?.violation != null && (
        <b class="red" title={from.violation}>
          {text.footer.serverFault}
        </b>
      )}
      <span class="space" />
      <button
        type="button"
        class="plain"
        onClick={() => {
          keysShown.value = true;
        }}
      >
        ? {text.footer.keys}
      </button>
    </footer>
  );
}
