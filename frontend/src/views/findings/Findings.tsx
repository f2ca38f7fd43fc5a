/** The findings: what is wrong in the recording, by the symptom of which it is a cause, and what was looked for in vain. */

import { useComputed } from '@preact/signals';
import { useEffect, useReducer } from 'preact/hooks';
import { isEmbedded } from '../../store/embedded';
import { found, type Group, giveUp, grouped, look } from '../../store/findings';
import type { Findings as Answer, LookedFor } from '../../store/generated/answers';
import { position } from '../../store/ledger';
import { current } from '../../store/sessions';
import { text } from '../../text';
import { Finding } from './Finding';
import { nameOfKind, nameOfThresholds } from './names';

const words = text.findings;

function Asking({ began }: { readonly began: number }) {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => again(undefined as never), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="dim asking" role="status">
      <span class="spinner" aria-hidden="true" />
      {words.asking(Math.floor((performance.now() - began) / 1000))}
    </p>
  );
}

/** How many steps the session has gone on since. */
function Grown({ step }: { readonly step: number }) {
  const since = useComputed(() => Math.max(0, position.value.lastStep - step)).value;
  return since === 0 ? null : <span class="num warn grown"> · {words.grown(since)}</span>;
}

function Told({ answer }: { readonly answer: Answer }) {
  return (
    <>
      <b class="num">{words.count(answer.findings.length)}</b>
      {answer.step !== null && (
        <span class="dim" title={words.read(answer.steps, answer.operations)}>
          <span class="num">{words.asOf(answer.step)}</span>
          <Grown step={answer.step} />
        </span>
      )}
    </>
  );
}

function Bar() {
  const now = found.value;
  const isAsking = now.state === 'asking';
  return (
    <div class="filters" role="toolbar" aria-label={text.panels.findings}>
      {now.state === 'asking' && <Asking began={now.began} />}
      {now.state === 'told' && <Told answer={now.answer} />}
      {now.state === 'none' && <span class="dim">{words.cancelled}</span>}
      <span class="space" />
      {/* What a page holds was found when it was exported. */}
      {!(isEmbedded && now.state === 'told') && (
        <button
          type="button"
          class="btn"
          title={isAsking ? undefined : words.lookTitle}
          onClick={() => (isAsking ? giveUp() : void look())}
        >
          {isAsking ? words.cancel : now.state === 'none' ? words.first : words.look}
        </button>
      )}
    </div>
  );
}

function Without({ kinds }: { readonly kinds: readonly LookedFor[] }) {
  if (kinds.length === 0) return null;
  return (
    <p class="dim without">
      {words.without}{' '}
      {kinds.map(({ kind, thresholds }, place) => (
        <span key={kind}>
          {place > 0 && '; '}
          {nameOfKind(kind)} <span class="faint">({nameOfThresholds(thresholds)})</span>
        </span>
      ))}
    </p>
  );
}

function Symptom({ group: { fault, findings, without } }: { readonly group: Group }) {
  const names: Readonly<Record<string, string>> = words.faults;
  return (
    <section class={`symptom${findings.length === 0 ? ' quiet' : ''}`}>
      <h3>{fault === null ? words.others : (names[fault] ?? fault)}</h3>
      {findings.map((each) => (
        <Finding key={`${each.kind} ${each.reason}`} finding={each} />
      ))}
      <Without kinds={without} />
    </section>
  );
}

function All({ answer }: { readonly answer: Answer }) {
  return (
    <>
      {answer.findings.length === 0 && <p class="nothing">{words.none}</p>}
      {answer.not_recorded.length > 0 && (
        <p class="warn gaps">
          {words.notRecorded} {answer.not_recorded.map(words.gap).join('; ')}
        </p>
      )}
      {grouped(answer).map((group) => (
        <Symptom key={group.fault} group={group} />
      ))}
    </>
  );
}

export function Findings() {
  const now = found.value;
  const session = current.value?.id;
  useEffect(() => {
    if (found.peek().state === 'none') void look();
  }, [session]);
  return (
    <div class="findings">
      <Bar />
      <section
        class="scroller"
        data-panel="findings"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to take the focus to be scrolled by keys
        tabIndex={0}
        aria-label={text.panels.findings}
        aria-busy={now.state === 'asking'}
      >
        {now.state === 'told' && <All answer={now.answer} />}
        {now.state === 'failed' && (
          <div class="fault" role="alert">
            <p class="red">
              {words.failed}: {now.message}
            </p>
            {now.status !== null && <p class="faint num">{words.status(now.status)}</p>}
          </div>
        )}
      </section>
    </div>
  );
}
