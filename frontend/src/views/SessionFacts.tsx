/** The session: what the inspector tells while nothing is selected. */

import { computed } from '@preact/signals';
import { bytes, duration, integer, moment, short } from '../format';
import { gaps, health, hello, isLive, lag, status } from '../store/ledger';
import { text } from '../text';
import { SHARES, settingOf } from './deviceMemory';
import { MemoryStrip } from './MemoryStrip';
import { sessionTime, wallClock } from './timeText';

/** Settings that are told elsewhere, and better. */
const TOLD: ReadonlySet<string> = new Set([...SHARES, 'total' as const].map(settingOf));

function milliseconds(value: number | null | undefined): string {
  return value == null ? '–' : `${integer(Math.max(0, value))} ms`;
}

/** Another with each view, in words. */
const lagTold = computed(() =>
  text.inspector.lagOf(milliseconds(status.value?.lag_ms), milliseconds(lag.value)),
);

/** How the session goes now: the engine's health, and what the server says of this viewer. */
function Health() {
  const from = status.value;
  const told = health.value;
  if (!isLive.value || from === null) return null;
  return (
    <>
      <div class="head">
        <h2>{text.inspector.health}</h2>
      </div>
      <dl class="pairs" data-testid="health">
        {told !== null && from.linked && (
          <>
            <dt>{text.inspector.operations}</dt>
            <dd class="num">{text.inspector.perSecond(short(told.operations_per_s ?? 0))}</dd>
            <dt>{text.inspector.steps}</dt>
            <dd class="num">{text.inspector.perSecond(short(told.steps_per_s ?? 0))}</dd>
            <dt>{text.inspector.bytes}</dt>
            <dd class="num">{text.inspector.perSecond(bytes(Math.round(told.bytes_per_s ?? 0)))}</dd>
            <dt>{text.inspector.inLedger}</dt>
            <dd class="num">
              {text.inspector.inLedgerOf(duration(told.ledger_ns ?? 0), duration(told.step_ns ?? 0))}
            </dd>
            <dt>{text.inspector.queued}</dt>
            <dd class="num" title={text.inspector.queuedTitle}>
              {text.inspector.queuedOf(told.queue_records ?? 0, bytes(told.unacknowledged_bytes ?? 0))}
            </dd>
          </>
        )}
        <dt>{text.inspector.lag}</dt>
        <dd class="num" title={text.inspector.lagTitle}>
          {lagTold}
        </dd>
        <dt>{text.inspector.skips}</dt>
        <dd class="num" title={text.inspector.skipsTitle}>
          {text.inspector.skipsOf(from.skips ?? 0, from.viewers_skips ?? 0)}
        </dd>
        <dt>{text.inspector.gaps}</dt>
        <dd class="num">{integer(Math.max(gaps.value, told?.gaps ?? 0))}</dd>
        <dt>{text.inspector.viewers}</dt>
        <dd class="num">{integer(from.viewers ?? 0)}</dd>
      </dl>
    </>
  );
}

export function Session() {
  const told = hello.value;
  if (told === null) return null;
  const { memory_backend, reserve, kv_cache_dtype, load_format } = told.config ?? {};
  const each = told.kv_bytes_per_block ?? 0;
  return (
    <>
      <p class="hint dim">{text.inspector.hint}</p>
      <dl class="pairs">
        <dt>{text.inspector.model}</dt>
        <dd>{told.model || '–'}</dd>
        <dt>{text.inspector.engine}</dt>
        <dd>
          {told.engine} <span class="dim">· {told.runner}</span>
        </dd>
        <dt>{text.inspector.device}</dt>
        <dd>{told.device || '–'}</dd>
        <dt>{text.inspector.pool}</dt>
        <dd class="num">{text.inspector.poolOf(told.num_blocks, told.block_size)}</dd>
        {typeof memory_backend === 'string' && (
          <>
            <dt>{text.inspector.memory}</dt>
            <dd>{typeof reserve === 'string' ? text.inspector.reserves(reserve) : text.inspector.paged}</dd>
          </>
        )}
        {each > 0 && (
          <>
            <dt>{text.inspector.poolBytes}</dt>
            <dd class="num">
              {bytes(each * told.num_blocks)}
              {typeof kv_cache_dtype === 'string' && (
                <span class="dim"> {text.inspector.kvDtype(kv_cache_dtype)}</span>
              )}
            </dd>
          </>
        )}
        {load_format === 'dummy' && (
          <>
            <dt>{text.inspector.weights}</dt>
            <dd class="warn">{text.inspector.randomWeights}</dd>
          </>
        )}
        <dt>{text.inspector.started}</dt>
        <dd class="num">{moment(told.utc_us)}</dd>
        <dt>{text.inspector.clock}</dt>
        <dd class="num">
          {sessionTime} <span class="dim">{wallClock}</span>
        </dd>
      </dl>
      <MemoryStrip />
      <Health />
      <div class="head">
        <h2>{text.inspector.settings}</h2>
      </div>
      <dl class="pairs settings">
        {Object.entries(told.config ?? {})
          .filter(([name, value]) => value !== null && !TOLD.has(name))
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="num">{String(value)}</dd>
            </div>
          ))}
      </dl>
    </>
  );
}
