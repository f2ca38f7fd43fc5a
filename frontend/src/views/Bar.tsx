/** The bar: which session, the view's transport, the engine's control apart from it, usage, and the digest light. */

import { useComputed } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { integer } from '../format';
import { jump, playOrPause, RATES, rate, setRate, stepBy } from '../store/clock';
import { commandById } from '../store/commands';
import { held } from '../store/engine';
import { keysShown } from '../store/layout';
import {
  awaitsFirstStep,
  behind,
  ending,
  hello,
  isLive,
  light,
  link,
  position,
  status,
  usable,
  usage,
} from '../store/ledger';
import { closeSession, current } from '../store/sessions';
import { readStep } from '../store/step';
import { theme, toggleTheme } from '../store/theme';
import { text } from '../text';
import { EngineControl } from './EngineControl';

export function Logo() {
  return (
    <span class="logo">
      kv<i>arium</i>
    </span>
  );
}

function Badge() {
  const { mode } = position.value;
  const steps = behind.value;
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
  if (mode === 'follow') return <span class="pill badge live">{text.bar.live}</span>;
  return (
    <button
      type="button"
      class="pill badge behind"
      onClick={commandById('end').run}
      title={text.bar.followTitle}
    >
      {text.bar.behind(steps)}
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
  const model = named === 'none' || named === '' ? `${told?.runner ?? info.runner} runner` : named;
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

/** Shows the step, and takes one that is typed. */
function StepField() {
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (wrong === '') return;
    const timer = setTimeout(() => setWrong(''), 6000);
    return () => clearTimeout(timer);
  }, [wrong]);
  const { step, target, lastStep, mode } = position.value;
  const shown = mode === 'follow' ? step : (target ?? step);
  const commit = () => {
    const wanted = readStep(typed ?? '', lastStep);
    if (typeof wanted === 'number') jump(wanted);
    setWrong(
      wanted === 'low' ? text.bar.steps(lastStep) : wanted === 'high' ? text.bar.noSuchStep(lastStep) : '',
    );
    setTyped(null);
    field.current?.blur();
  };
  return (
    <label class="stepfield" title={text.bar.goToStep}>
      {text.bar.step}
      <input
        ref={field}
        class="num"
        data-panel="step"
        inputMode="numeric"
        aria-label={text.bar.goToStep}
        value={typed ?? (shown < 0 ? '–' : integer(shown))}
        onFocus={(event) => {
          setWrong('');
          const input = event.currentTarget;
          const all = shown < 0 ? '' : String(shown);
          setTyped(all);
          // Selected at once, for who types on; and after a click, which puts the caret somewhere.
          input.value = all;
          input.select();
          setTimeout(() => input.value === all && input.select());
        }}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onBlur={() => setTyped(null)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') commit();
          if (event.key === 'Escape') field.current?.blur();
        }}
      />
      <span class="num faint">/ {integer(Math.max(0, lastStep))}</span>
      {wrong !== '' && (
        <span class="wrong" role="alert">
          {wrong}
        </span>
      )}
    </label>
  );
}

function Transport() {
  const { mode } = position.value;
  const going = mode !== 'at';
  const live = isLive.value;
  return (
    <div class="transport" role="toolbar" aria-label={text.keys.groups.view}>
      <button
        type="button"
        class="btn icon"
        title={`${text.bar.first} (Home)`}
        aria-label={text.bar.first}
        onClick={() => jump(0)}
      >
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <path d="M2 2v8M10 2 4.5 6 10 10z" />
        </svg>
      </button>
      <button
        type="button"
        class="btn icon"
        title={`${text.bar.back} (,)`}
        aria-label={text.bar.back}
        onClick={() => stepBy(-1)}
      >
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <path d="M9 2 3.5 6 9 10z" />
        </svg>
      </button>
      <button
        type="button"
        class="btn icon main"
        title={`${going ? text.bar.pause : text.bar.play} (Space)`}
        aria-label={going ? text.bar.pause : text.bar.play}
        onClick={playOrPause}
      >
        <svg viewBox="0 0 12 12" aria-hidden="true">
          {going ? <path class="bars" d="M3.5 2v8M8.5 2v8" /> : <path d="M3 1.5 10 6 3 10.5z" />}
        </svg>
      </button>
      <button
        type="button"
        class="btn icon"
        title={`${text.bar.forward} (.)`}
        aria-label={text.bar.forward}
        onClick={() => stepBy(1)}
      >
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <path d="M3 2l5.5 4L3 10z" />
        </svg>
      </button>
      <button
        type="button"
        class={`btn follow ${mode === 'follow' ? 'on' : ''}`}
        title={`${live ? text.bar.followTitle : text.bar.endTitle} (End)`}
        onClick={commandById('end').run}
      >
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <path d="M2 2l5.5 4L2 10zM10 2v8" />
        </svg>
        {live ? text.bar.follow : text.bar.end}
      </button>
      <select
        class="rate num"
        aria-label={text.bar.rateTitle}
        title={text.bar.rateTitle}
        value={String(rate.value)}
        onChange={(event) => setRate(Number(event.currentTarget.value))}
      >
        {RATES.map((each) => (
          <option key={each} value={String(each)}>
            {text.bar.rate(each)}
          </option>
        ))}
      </select>
      <StepField />
    </div>
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
    const { colour, record, message } = light.value;
    if (colour === 'green') return text.light.greenTitle(record ?? 0);
    if (colour === 'red') return text.light.redTitle(record ?? 0, message);
    return text.light.greyTitle(message);
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
      {waits ? text.light.waiting : text.light[colour]}
    </span>
  );
}

/** Theme and keys: on every page. */
export function Corner() {
  const other = theme.value === 'dark' ? 'light' : 'dark';
  return (
    <>
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

export function Bar() {
  return (
    <header class={`bar ${held.value ? 'held' : ''}`}>
      <h1 class="unseen">{`${text.product} · ${current.value?.name ?? ''}`}</h1>
      <button type="button" class="plain home" onClick={closeSession} title={`${text.bar.sessions} (s)`}>
        <Logo />
      </button>
      <Badge />
      <Name />
      <Transport />
      <EngineControl />
      <span class="space" />
      <Usage />
      <LightPill />
      <Corner />
    </header>
  );
}
