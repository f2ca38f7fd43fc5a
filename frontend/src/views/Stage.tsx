/** What lies over the work area while there is nothing to show, and what must be said above it. */

import { isEmbedded } from '../store/embedded';
import { failure, hello, isLive, light, link, notice, position, status, tell } from '../store/ledger';
import { remark } from '../store/remark';
import { clearSelection } from '../store/selection';
import { closeSession, dismissNewcomer, listing, newcomer, openAgain, openSession } from '../store/sessions';
import { text } from '../text';
import { useLate } from './late';

/** ms for which a place is loaded before it is said. */
const LOADING_MS = 250;

/** Did the step not come that the session was opened at? */
function isNowhere(): boolean {
  const { loaded, target } = position.value;
  return !loaded && target === null && notice.value?.kind === 'notLoaded';
}

/** Opening, joining, loading, failed: over the panels, until there is a state. */
export function Cover() {
  const { loaded, lastStep, target } = position.value;
  const fault = failure.value ?? (isNowhere() ? text.notice(notice.value!) : null);
  if (fault !== null) {
    return (
      <div class="cover" role="alert">
        <p class="loud">{text.stage.failed}</p>
        <p class="dim">{fault}</p>
        {!isEmbedded && (
          <p class="ways">
            <button type="button" class="btn" onClick={openAgain}>
              {text.sessions.retry}
            </button>
            <button type="button" class="btn" onClick={closeSession}>
              {text.stage.back}
            </button>
          </p>
        )}
      </div>
    );
  }
  if (loaded) return null;
  const message =
    hello.value === null
      ? text.stage.opening
      : isLive.value
        ? text.stage.joining
        : lastStep < 0
          ? text.stage.noState
          : target === null
            ? text.stage.opening
            : text.stage.seeking(target);
  return (
    <div class="cover" role="status">
      {lastStep >= 0 || isLive.value ? <span class="spinner" aria-hidden="true" /> : null}
      <p class="dim">{message}</p>
    </div>
  );
}

/** In place of all, where the page should hold its recording: until it is read, or because the file is cut off. */
export function NoRecording() {
  const isRead = listing.value.state === 'ready';
  return (
    <main class="landing">
      <p class={isRead ? 'loud' : 'dim'} role={isRead ? 'alert' : 'status'}>
        {isRead ? text.stage.cutOff : text.stage.opening}
      </p>
      {isRead && <p class="dim">{text.stage.cutOffAdvice}</p>}
    </main>
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

function openNewcomer(): void {
  const info = newcomer.peek();
  if (info === null) return;
  clearSelection();
  openSession(info, null);
}

/** A remark that came of what the reader did, until it is read. */
export function Remarked() {
  const said = remark.value;
  if (said === null) return null;
  return (
    <div class={`banner ${said.isError ? 'warn' : 'info'}`} role={said.isError ? 'alert' : 'status'}>
      <span>{said.told}</span>
      <button
        type="button"
        class="plain"
        aria-label={text.stage.dismiss}
        onClick={() => {
          remark.value = null;
        }}
      >
        ✕
      </button>
    </div>
  );
}

export function Banners() {
  const { moving, target } = position.value;
  const isLoading = useLate(moving && target !== null && position.value.loaded, LOADING_MS);
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
      <Remarked />
      {newcomer.value !== null && (
        <div class="banner info" role="status">
          <span>{text.stage.newcomer(newcomer.value.name)}</span>
          <button type="button" class="btn" onClick={() => openNewcomer()}>
            {text.stage.openIt}
          </button>
          <button type="button" class="plain" aria-label={text.stage.dismiss} onClick={dismissNewcomer}>
            ✕
          </button>
        </div>
      )}
      {notice.value !== null && !isNowhere() && (
        <div class="banner warn" role="alert">
          <span>{text.notice(notice.value)}</span>
          <button type="button" class="btn" onClick={() => tell({ kind: 'dismiss' })}>
            {text.stage.dismiss}
          </button>
        </div>
      )}
      {isLoading && <div class="loadingbar" role="status" aria-label={text.stage.seeking(target ?? 0)} />}
    </>
  );
}
