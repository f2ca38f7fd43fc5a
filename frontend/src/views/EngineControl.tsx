/** What can be asked of the engine itself, apart from the transport of the view. */

import { breakpoints, goToHit, showBreakpoints, stop, whenOf } from '../store/breakpoints';
import {
  canControl,
  canReset,
  engineError,
  hasEngine,
  held,
  holdOrRelease,
  resetPrefixCache,
  stepEngine,
} from '../store/engine';
import { health } from '../store/ledger';
import { text } from '../text';

const { control } = text;

function ResetCache() {
  if (!canReset.value) return null;
  const { resetCache, resetCacheTitle } = text.bar;
  return (
    <button
      type="button"
      class="reset"
      title={`${resetCacheTitle} (R)`}
      aria-label={text.commands.resetCache}
      onClick={() => void resetPrefixCache()}
    >
      <svg class="resetsign" viewBox="0 0 12 12" aria-hidden="true">
        <path d="M2.2 6.6a4 4 0 1 0 1-3.2M2.4 1.4v2.4h2.4" />
      </svg>
      <span class="resetword">{resetCache}</span>
    </button>
  );
}

export function EngineControl() {
  if (!canControl.value) {
    if (!hasEngine.value && !canReset.value) return null;
    return (
      <div
        class={`engine${hasEngine.value ? ' away' : ''}`}
        role="toolbar"
        aria-label={text.keys.groups.engine}
        title={hasEngine.value ? text.bar.engineAwayTitle : undefined}
      >
        {hasEngine.value ? text.bar.engineAway : text.inspector.engine}
        <ResetCache />
      </div>
    );
  }
  const isHeld = held.value;
  const hit = isHeld ? stop.value : null;
  const { run_to: to, slow } = health.value ?? {};
  const runs = to !== undefined && to !== null;
  return (
    <div class={`engine ${isHeld ? 'held' : ''}`} role="toolbar" aria-label={text.keys.groups.engine}>
      {hit === null ? (
        <span class="word">
          {runs ? control.runsTo(to) : isHeld ? text.bar.engineHeld : text.bar.engineRuns}
        </span>
      ) : (
        <button
          type="button"
          class="word stop"
          title={control.stoppedTitle(hit, whenOf(hit))}
          onClick={() => void goToHit(hit)}
        >
          <span class="long">{control.stopped(hit)}</span>
          <span class="short">{control.stoppedShort(hit)}</span>
          <span class="num">{control.stoppedAt(hit)}</span>
        </button>
      )}
      {slow !== undefined && slow !== null && (
        <span class="num" title={control.slowTitle}>
          {control.slow(slow)}
        </span>
      )}
      <button
        type="button"
        title={isHeld ? text.bar.releaseTitle : text.bar.holdTitle}
        onClick={() => void holdOrRelease()}
      >
        {isHeld ? text.bar.release : text.bar.hold}
        <kbd>⇧Space</kbd>
      </button>
      {isHeld && (
        <button type="button" title={text.bar.stepEngineTitle} onClick={() => void stepEngine()}>
          {text.bar.stepEngine}
          <kbd>⇧↵</kbd>
        </button>
      )}
      <button
        type="button"
        class="breaks"
        title={`${control.openTitle(breakpoints.value.length)} (b)`}
        aria-label={text.commands.breakpoints}
        onClick={() => showBreakpoints()}
      >
        <span aria-hidden="true">●</span>
        <span class="num">{breakpoints.value.length > 0 ? breakpoints.value.length : ''}</span>
      </button>
      <ResetCache />
      {engineError.value !== null && <span class="error">{engineError.value}</span>}
    </div>
  );
}
