/** What lies over the work area while there is nothing to show, and what must be said above it. */

import { jump } from '../store/clock';
import { failure, hello, isLive, light, link, notice, position, status, tell } from '../store/ledger';
import { closeSession } from '../store/sessions';
import { text } from '../text';

/** Opening, joining, loading, failed: over the panels, until there is a state. */
export function Cover() {
  if (failure.value !== null) {
    return (
      <div class="cover" role="alert">
        <p class="loud">{text.stage.failed}</p>
        <p class="dim">{failure.value}</p>
        <button type="button" class="btn" onClick={closeSession}>
          {text.stage.back}
        </button>
      </div>
    );
  }
  const { loaded, lastStep, target } = position.value;
  if (loaded) return null;
  const message =
    hello.value === null
      ? text.stage.opening
      : isLive.value
        ? text.stage.joining
        : lastStep < 0
          ? text.stage.noState
          : text.stage.seeking(target ?? lastStep);
  return (
    <div class="cover" role="status">
      {lastStep >= 0 || isLive.value ? <span class="spinner" aria-hidden="true" /> : null}
      <p class="dim">{message}</p>
    </div>
  );
}

/** The first fault, for as long as this page lives. */
export function Alarm() {
  const { colour, record, message } = light.value;
  if (colour !== 'red') return null;
  return (
    <div class="banner alarm" role="alert">
      <b>{text.light.alarm(record ?? 0)}</b>
      <span class="num">{message}</span>
      <span class="dim">{text.light.alarmAdvice}</span>
    </div>
  );
}

export function Banners() {
  const { moving, target } = position.value;
  return (
    <>
      {link.value === 'lost' && (
        <div class="banner warn" role="alert">
          <span>{text.stage.linkLost}</span>
          <button type="button" class="btn" onClick={() => tell({ kind: 'retry' })}>
            {text.stage.retryNow}
          </button>
        </div>
      )}
      {link.value === 'open' && status.value?.linked === false && (
        <div class="banner warn" role="status">
          <span>{text.stage.engineGone}</span>
        </div>
      )}
      {notice.value !== null && (
        <div class="banner warn" role="alert">
          <span>{notice.value}</span>
          <button type="button" class="btn" onClick={() => jump(position.value.step)}>
            {text.stage.dismiss}
          </button>
        </div>
      )}
      {moving && target !== null && position.value.loaded && (
        <div class="loadingbar" role="status" aria-label={text.stage.seeking(target)} />
      )}
    </>
  );
}
