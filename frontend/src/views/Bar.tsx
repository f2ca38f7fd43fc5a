/** The bar: which session, the view's transport, the engine's control apart from it, usage, and the digest light. */

import { useComputed } from '@preact/signals';
import { integer } from '../format';
import { NAMES, others } from '../language';
import { commandById } from '../store/commands';
import { isEmbedded } from '../store/embedded';
import { held } from '../store/engine';
import { keysShown, paletteShown } from '../store/layout';
import {
  awaitsFirstStep,
  behind,
  ending,
  hello,
  light,
  link,
  mode,
  position,
  status,
  usable,
  usage,
} from '../store/ledger';
import { speakHere } from '../store/location';
import { closeSession, current } from '../store/sessions';
import { shareLink } from '../store/share';
import { theme, toggleTheme } from '../store/theme';
import { text } from '../text';
import { EngineControl } from './EngineControl';
import { keyName } from './keyName';
import { Transport } from './Transport';

export function Logo() {
  return (
    <span class="logo">
      kv<i>arium</i>
    </span>
  );
}

function Badge() {
  if (link.value === 'replay' && (ending.value ?? current.value?.state) === 'interrupted')
    return (
      <span class="pill badge interrupted" title={text.bar.interruptedTitle}>
        {text.bar.interrupted}
      </span>
    );
  if (link.value === 'replay') return <span class="pill badge replay">{text.bar.replay}</span>;
  if (link.value === 'lost') return <span class="pill badge lost">{text.bar.linkLost}</span>;
  if (link.value === 'connecting') return <span class="pill badge">{text.bar.connecting}</span>;
  if (status.value?.linked === false) {
    return (
      <span class="pill badge lost" title={text.bar.engineGoneTitle}>
        {text.bar.engineGone}
      </span>
    );
  }
  if (mode.value === 'follow') return <span class="pill badge live">{text.bar.live}</span>;
  return (
    <button
      type="button"
      class="pill badge behind"
      onClick={commandById('end').run}
      title={text.bar.followTitle}
    >
      {text.bar.behind(behind.value)}
    </button>
  );
}

function Name() {
  const info = current.value;
  const told = hello.value;
  if (info === null) return null;
  const blocks = told?.num_blocks ?? info.num_blocks;
  const size = told?.block_size ?? info.block_size;
  const named = told?.model || info.model;
  const model = named === 'none' || named === '' ? text.sessions.runner(told?.runner ?? info.runner) : named;
  return (
    <span class="name" title={`${info.name || model}\n${info.id}`}>
      <b>{info.name || model}</b>
      {info.name !== '' && model !== info.name && <span>{model}</span>}
      <span>{told?.device ?? info.device}</span>
      <span class="num">
        {integer(blocks)} × {size}
      </span>
    </span>
  );
}

function Usage() {
  const { active, shared, cached, free } = usage.value;
  const whole = usable.value;
  const width = (part: number) => `${whole > 0 ? (100 * part) / whole : 0}%`;
  const title = text.bar.usageTitle(active, shared, cached, free, whole);
  return (
    <div class="usage" title={title}>
      <div class="usagebar" role="img" aria-label={title}>
        <span class="active" style={{ width: width(active) }} />
        <span class="shared" style={{ width: width(shared) }} />
        <span class="cached" style={{ width: width(cached) }} />
      </div>
      <span class="num">{text.bar.used(active + shared, whole)}</span>
    </div>
  );
}

function LightPill() {
  const title = useComputed(() => {
    const { colour, record, message, doubt } = light.value;
    const { within, step } = position.value;
    if (colour === 'green' && within !== null) return text.light.withinTitle(step, record ?? 0);
    if (colour === 'green') return text.light.greenTitle(record ?? 0);
    if (colour === 'red') return text.light.redTitle(record ?? 0, message);
    return text.light.greyTitle(doubt);
  });
  const { colour } = light.value;
  const waits = awaitsFirstStep.value;
  return (
    <span
      class={`light ${colour}`}
      role="status"
      aria-live="polite"
      title={waits ? text.light.waitingTitle : title.value}
      data-testid="light"
    >
      <i aria-hidden="true" />
      <span class={waits || colour === 'red' ? '' : 'word'}>
        {waits ? text.light.waiting : text.light[colour]}
      </span>
    </span>
  );
}

/** Commands, language, theme and keys: on every page. */
export function Corner() {
  const other = theme.value === 'dark' ? 'light' : 'dark';
  return (
    <>
      <button
        type="button"
        class="plain round"
        title={`${text.palette.title} (${keyName('Ctrl+K')})`}
        aria-label={text.palette.title}
        onClick={() => {
          paletteShown.value = true;
        }}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path
            d="m3 4.5 3.5 3.5L3 11.5M8.5 11.8h5"
            fill="none"
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linecap="round"
            stroke-linejoin="round"
          />
        </svg>
      </button>
      {others.map((each) => (
        <button
          key={each}
          type="button"
          class="plain round tongue"
          title={text.palette.speak(NAMES[each])}
          aria-label={`${text.palette.speak(NAMES[each])}, ${each}`}
          onClick={() => speakHere(each)}
        >
          {each}
        </button>
      ))}
      <button
        type="button"
        class="plain round"
        title={`${text.bar.theme(other)} (t)`}
        aria-label={text.bar.theme(other)}
        onClick={toggleTheme}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="8" cy="8" r="5.2" fill="none" stroke="currentColor" stroke-width="1.4" />
          <path d="M8 2.8a5.2 5.2 0 0 1 0 10.4z" fill="currentColor" />
        </svg>
      </button>
      <button
        type="button"
        class="plain round"
        title={`${text.bar.keys} (?)`}
        aria-label={text.bar.keys}
        onClick={() => {
          keysShown.value = true;
        }}
      >
        ?
      </button>
    </>
  );
}

function ShareButton() {
  return (
    <button
      type="button"
      class="plain round"
      title={`${text.commands.share} (l)`}
      aria-label={text.commands.share}
      onClick={() => void shareLink()}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path
          d="M6.6 9.4a2.6 2.6 0 0 0 3.7 0l2-2a2.6 2.6 0 1 0-3.7-3.7l-.8.8M9.4 6.6a2.6 2.6 0 0 0-3.7 0l-2 2a2.6 2.6 0 1 0 3.7 3.7l.8-.8"
          fill="none"
          stroke="currentColor"
          stroke-width="1.4"
          stroke-linecap="round"
        />
      </svg>
    </button>
  );
}

export function Bar() {
  return (
    <header class={`bar ${held.value ? 'held' : ''}`}>
      <h1 class="unseen">{`${text.product} · ${current.value?.name ?? ''}`}</h1>
      {isEmbedded ? (
        <Logo />
      ) : (
        <button type="button" class="plain home" onClick={closeSession} title={`${text.bar.sessions} (o)`}>
          <Logo />
        </button>
      )}
      <Badge />
      <Name />
      <Transport />
      <EngineControl />
      <span class="space" />
      <Usage />
      <LightPill />
      <span class="corner">
        {!isEmbedded && <ShareButton />}
        <Corner />
      </span>
    </header>
  );
}
