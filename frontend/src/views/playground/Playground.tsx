/** The playground: write a prompt, send it, and watch its blocks and its text. */

import { useEffect, useRef } from 'preact/hooks';
import { held } from '../../store/engine';
import { focusPanel } from '../../store/layout';
import { isLive, link, status } from '../../store/ledger';
import {
  type Draft,
  draft,
  edit,
  hasChat,
  recall,
  send,
  sendError,
  sending,
  sent,
} from '../../store/playground';
import { text } from '../../text';
import { Field } from './Fields';
import { Lessons } from './Lessons';
import { Sampling, Unfold, useUnfolded } from './Sampling';
import { SentCard } from './SentCard';

const words = text.playground;

/** A field for text that grows with what is in it. */
function Writing({
  name,
  label,
  placeholder,
  rows,
  onKeyDown,
}: {
  readonly name: 'prompt' | 'system';
  readonly label: string;
  readonly placeholder: string;
  readonly rows: number;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const value = draft.value[name];
  useEffect(() => {
    const { current } = area;
    // The style sheet does it where the browser can.
    if (current === null || CSS.supports('field-sizing', 'content')) return;
    current.style.height = 'auto';
    current.style.height = `${current.scrollHeight + 2}px`;
  }, [value]);
  return (
    <textarea
      ref={area}
      name={name}
      aria-label={label}
      placeholder={placeholder}
      rows={rows}
      value={value}
      data-panel={name === 'prompt' ? 'playground' : undefined}
      onInput={(event) => edit({ [name]: event.currentTarget.value })}
      onKeyDown={onKeyDown}
    />
  );
}

type Preset = keyof typeof words.presetNames;

function applyPreset(preset: Preset): void {
  const { ask, system, question, long } = words.samples;
  const changes: Record<Preset, Partial<Draft>> = {
    samples: { prompt: draft.peek().prompt || ask, n: '3', temperature: '0.8', max_tokens: '48' },
    long: { prompt: long, n: '1', max_tokens: '48' },
    // Without a template the instructions are simply what the prompt begins with.
    system:
      hasChat.peek() && draft.peek().chat
        ? { system, prompt: question, n: '1' }
        : { prompt: `${system}\n\n${question}`, n: '1' },
  };
  edit({ ...changes[preset], follow: null });
  focusPanel('playground');
}

function Presets() {
  return (
    <div class="presets">
      <span class="faint">{words.presets}</span>
      {(Object.keys(words.presetNames) as Preset[]).map((preset) => (
        <button
          key={preset}
          type="button"
          class="pill"
          title={words.presetTitles[preset]}
          onClick={() => applyPreset(preset)}
        >
          {words.presetNames[preset]}
        </button>
      ))}
    </div>
  );
}

/** Whether the prompt is a turn of a conversation, and of which. */
function Chat() {
  if (!hasChat.value) return null;
  const { chat, follow, followed } = draft.value;
  if (follow !== null) {
    return (
      <div class="chatline">
        <span class="pill follows">
          {words.follows(follow, followed)}
          <button
            type="button"
            class="plain"
            aria-label={words.unfollow}
            title={words.unfollow}
            onClick={() => edit({ follow: null })}
          >
            ✕
          </button>
        </span>
      </div>
    );
  }
  return (
    <>
      <label class="check" title={words.chatTitle}>
        <input
          type="checkbox"
          checked={chat}
          onChange={(event) => edit({ chat: event.currentTarget.checked })}
        />
        {words.chat}
      </label>
      {chat && <Writing name="system" label={words.system} placeholder={words.systemPlaceholder} rows={1} />}
    </>
  );
}

/** Send it; what is wrong with a field takes the focus, once it is there. */
async function sendOrShow(): Promise<void> {
  await send();
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>('.write [aria-invalid="true"]:not(:disabled)')?.focus(),
  );
}

function Form({ live }: { readonly live: boolean }) {
  const [unfolded, toggle] = useUnfolded();
  const keys = (event: KeyboardEvent): void => {
    const direction = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0;
    if (direction !== 0 && !event.shiftKey && recall(direction)) event.preventDefault();
  };
  return (
    <form
      class="write"
      aria-label={text.panels.playground}
      onSubmit={(event) => {
        event.preventDefault();
        void sendOrShow();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (live) void sendOrShow();
      }}
    >
      <Presets />
      <Chat />
      <Writing name="prompt" label={words.prompt} placeholder={words.placeholder} rows={4} onKeyDown={keys} />
      <div class="fields">
        <Field name="n" />
        <Field name="max_tokens" />
        <Field name="temperature" />
      </div>
      <div class="sendline">
        <Unfold unfolded={unfolded} onToggle={toggle} />
        <button type="submit" class="btn send" disabled={!live || sending.value}>
          {sending.value ? words.sending : words.send}
          <kbd>{words.sendKey}</kbd>
        </button>
      </div>
      <Sampling hidden={!unfolded} />
      {sendError.value !== null && (
        <p class="wrong" role="alert">
          {sendError.value}
        </p>
      )}
    </form>
  );
}

export function Playground() {
  const live = isLive.value;
  const list = sent.value;
  const linked = link.value === 'open' && status.value?.linked !== false;
  const isEmpty = draft.value.prompt === '' && draft.value.system === '';
  return (
    <section
      class="scroller playground"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region has to take the focus to be scrolled by keys
      tabIndex={0}
      aria-label={text.panels.playground}
      data-panel={live || !isEmpty ? undefined : 'playground'}
    >
      {!live && (
        <div class="empty" role="status">
          <p>{words.replay}</p>
          <p class="faint">{words.replayAdvice}</p>
        </div>
      )}
      {(live || !isEmpty) && <Form live={live} />}
      {live && !linked && (
        <p class="quiet warn" role="status">
          {words.notLinked}
        </p>
      )}
      {live && held.value && (
        <p class="quiet warn" role="status">
          {words.held}
        </p>
      )}
      <Lessons />
      {(live || list.length > 0) && (
        <div class="head divider">
          <h2>{words.sent}</h2>
        </div>
      )}
      {live && list.length === 0 && <p class="faint quiet">{words.none}</p>}
      {list.map((each) => (
        <SentCard key={each.request} sent={each} live={live} />
      ))}
    </section>
  );
}
