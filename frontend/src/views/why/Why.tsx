/** The question that is asked of the recording, and its answer: above the inspector, until it is closed. */

import { useEffect, useReducer } from 'preact/hooks';
import type {
  Answer,
  Eviction,
  Leaks as LeaksTold,
  Memory as MemoryTold,
  Miss,
  Preemption,
  Wait,
} from '../../store/generated/answers';
import { isLive, stepShown } from '../../store/ledger';
import {
  aboutMemory,
  aboutRequest,
  closeWhy,
  pose,
  question,
  type Reply,
  reply,
  showWhy,
  stopAsking,
} from '../../store/why';
import { type Kind, ofStep, type Question } from '../../store/whyQuestion';
import { text } from '../../text';
import { Segments } from '../Segments';
import { Evicted } from './Evicted';
import { Leaks } from './Leaks';
import { Memory } from './Memory';
import { Missed } from './Missed';
import { Preempted } from './Preempted';
import { Life, Told, Whom } from './Told';
import { Waits } from './Waits';

const words = text.why;
const OF_REQUEST = ['preempted', 'waits', 'missed'] as const;
const OF_MEMORY = ['memory', 'leaks'] as const;

/** The number of the request that a question names as r17 or 17. */
const numberOf = (of: string): number | null => {
  const said = /^r?(\d{1,9})$/.exec(of)?.[1];
  return said === undefined ? null : Number(said);
};

/** The other questions about the same. */
function Others({ asked }: { readonly asked: Question }) {
  const { kind } = asked;
  const of = 'of' in asked ? numberOf(asked.of) : null;
  const choose = (next: Kind): void => {
    if (next === 'memory' || next === 'leaks') pose(aboutMemory(next));
    else if (next !== 'evicted' && of !== null) pose(aboutRequest(next, of));
  };
  const options: readonly Kind[] =
    'of' in asked ? (of === null ? [kind] : OF_REQUEST) : kind === 'evicted' ? [kind] : OF_MEMORY;
  return (
    <Segments label={words.questions} options={options} names={words.names} value={kind} onChange={choose} />
  );
}

/** The question in words, of whom and when. */
function Asked({ asked, answer }: { readonly asked: Question; readonly answer: Answer | null }) {
  if ('op' in asked) {
    const life = answer === null ? null : (answer as Eviction).life;
    return life === null ? (
      <Told words={words.asks.evictedOp} parts={{ op: asked.op }} />
    ) : (
      <Told words={words.asks.evicted} parts={{ life: <Life life={life} /> }} />
    );
  }
  switch (asked.kind) {
    case 'evicted': {
      const { block, generation } = asked;
      const life = answer === null ? { block, generation: generation ?? null } : (answer as Eviction).life;
      return <Told words={words.asks.evicted} parts={{ life: <Life life={life} /> }} />;
    }
    case 'memory':
    case 'leaks':
      return <>{words.asks[asked.kind]}</>;
    default: {
      const request = numberOf(asked.of);
      const named = request === null ? null : { request, name: null, sequence: null, index: null };
      const who = answer !== null && 'who' in answer ? answer.who : named;
      return (
        <Told words={words.asks[asked.kind]} parts={{ who: who === null ? asked.of : <Whom who={who} /> }} />
      );
    }
  }
}

function Waiting({ began }: { readonly began: number }) {
  const [, tick] = useReducer((count: number, _: undefined) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => tick(undefined), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="asked dim" role="status">
      <span class="spinner" aria-hidden="true" />
      {words.asking(Math.floor((performance.now() - began) / 1000))}
      <button type="button" class="btn" onClick={stopAsking}>
        {words.stop}
      </button>
    </p>
  );
}

const REFUSED: Readonly<Record<number, string>> = {
  404: words.notSo,
  429: words.tooMany,
  503: words.tooLong,
};

function Failed({ message, status, instead }: Extract<Reply['answered'], { state: 'failed' }>) {
  const step = instead === null ? null : /[?&]step=(\d+)/.exec(instead)?.[1];
  return (
    <div class="refused" role="alert">
      <b>{(status === null ? undefined : REFUSED[status]) ?? words.noAnswer}</b>
      <p>{message}</p>
      {instead !== null && (
        <button type="button" class="link" onClick={() => showWhy(instead)}>
          {step == null ? words.insteadAny : words.instead(Number(step))}
        </button>
      )}
    </div>
  );
}

function Found({ asked, answer }: { readonly asked: Question; readonly answer: Answer }) {
  switch (asked.kind) {
    case 'evicted':
      return <Evicted answer={answer as Eviction} />;
    case 'preempted':
      return <Preempted answer={answer as Preemption} />;
    case 'waits':
      return <Waits answer={answer as Wait} />;
    case 'missed':
      return <Missed answer={answer as Miss} />;
    case 'memory':
      return <Memory answer={answer as MemoryTold} />;
    case 'leaks':
      return <Leaks answer={answer as LeaksTold} />;
  }
}

/** Of which step it was asked, and the way to ask it again: here, or of what came since. */
function Again({ told: { question: asked, askedAt, answered } }: { readonly told: Reply }) {
  const step = 'step' in asked ? asked.step : undefined;
  const now = stepShown.value;
  const isElsewhere = step !== undefined && now >= 0 && step !== now;
  const isOld = isLive.value || answered.state === 'failed';
  return (
    <p class="asof faint">
      {step !== undefined && (OF_STEP.has(asked.kind) ? words.after(step) : words.upTo(step))}
      {isLive.value && (
        <>
          {step !== undefined && ' · '}
          {words.asOf(askedAt)}
        </>
      )}
      {answered.state !== 'asking' && (isElsewhere || isOld) && (
        <button type="button" class="link" onClick={() => pose(isElsewhere ? ofStep(asked, now) : asked)}>
          {isElsewhere ? words.againAt(now) : words.again}
        </button>
      )}
    </p>
  );
}

const OF_STEP: ReadonlySet<Kind> = new Set<Kind>(['waits', 'memory', 'leaks']);

export function Why() {
  const asked = question.value;
  const told = reply.value;
  if (asked === null) return null;
  const answered = told?.question === asked ? told.answered : null;
  const answer = answered?.state === 'told' ? answered.answer : null;
  return (
    <section class="why" aria-label={words.title}>
      <div class="head">
        <h2>{words.title}</h2>
        <Others asked={asked} />
        <button
          type="button"
          class="plain close"
          aria-label={words.close}
          title={`${words.close} (Esc)`}
          onClick={closeWhy}
        >
          ✕
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region has to take the focus to be scrolled by keys */}
      <section class="scroller" tabIndex={0} aria-label={words.names[asked.kind]} data-panel="why">
        <h3>
          <Asked asked={asked} answer={answer} />
        </h3>
        {told !== null && <Again told={told} />}
        {answered?.state === 'asking' && told !== null && <Waiting began={told.began} />}
        {answered?.state === 'failed' && <Failed {...answered} />}
        {answer !== null && <Found asked={asked} answer={answer} />}
      </section>
    </section>
  );
}
