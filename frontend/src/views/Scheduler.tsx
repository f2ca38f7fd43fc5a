/** The scheduler: who waits and why, and what the present step did. */

import type { ComponentChildren } from 'preact';
import { duration, integer } from '../format';
import { scheduler } from '../store/ledger';
import { hoverBlock, selectBlock, selection, selectRequest, selectSequence } from '../store/selection';
import { aboutRequest } from '../store/why';
import { text } from '../text';
import type { SchedulerAnswer, StepSummary, WaitingRow } from '../worker/answers/scheduler';
import { AskWhy } from './why/AskWhy';

function RequestLink({ request }: { readonly request: number }) {
  return (
    <button
      type="button"
      class={`link num${selection.value.request === request ? ' on' : ''}`}
      onClick={() => selectRequest(request)}
    >
      r{request}
    </button>
  );
}

function Waiting({ rows, total }: { readonly rows: readonly WaitingRow[]; readonly total: number }) {
  if (total === 0) return <p class="faint quiet">{text.scheduler.noneWaiting}</p>;
  return (
    <div class="lines waiting">
      {rows.map((row) => (
        <div key={row.request} class="line">
          <RequestLink request={row.request} />
          <b class={row.state}>{text.tables.states[row.state]}</b>
          <span>
            {text.waiting(row.reason)} {/* What was told before the loaded part, the recording knows. */}
            {row.reason === null && <AskWhy kind="waits" ask={() => aboutRequest('waits', row.request)} />}
          </span>
        </div>
      ))}
      {total > rows.length && <p class="faint quiet">{text.scheduler.more(total - rows.length)}</p>}
    </div>
  );
}

/** Below the block tables: the head of the queue of requests. */
export function WaitingStrip() {
  const answer = scheduler.value;
  const total = answer?.waitingTotal ?? 0;
  return (
    <div class="waits">
      <div class="head">
        <h2>{text.panels.waiting}</h2>
        <span class="note num">{total > 0 ? integer(total) : ''}</span>
      </div>
      <Waiting rows={answer?.waiting ?? []} total={total} />
    </div>
  );
}

function Meter({
  label,
  value,
  part,
}: {
  readonly label: string;
  readonly value: string;
  readonly part: number;
}) {
  return (
    <div class="meter">
      <span class="dim">{label}</span>
      <span class="num">{value}</span>
      <div class="track">
        <span style={{ width: `${Math.min(100, 100 * part)}%` }} />
      </div>
    </div>
  );
}

const MOST = 6;

/** What a step did of one kind, with the first of those that it did it to. */
function Kind({ name, count, children }: { name: string; count: string; children?: ComponentChildren }) {
  return (
    <div class="line kind">
      <b>{name}</b>
      <span class="num">{count}</span>
      <span class="whom">{children}</span>
    </div>
  );
}

function Kinds({ step }: { readonly step: StepSummary }) {
  const { chunks, decode, copies, evicted } = step;
  const evictions = step.operations.evict;
  const words = text.scheduler;
  const more = (count: number) => count > 0 && <span class="faint">{words.andMore(count)}</span>;
  return (
    <div class="lines kinds">
      {chunks.length > 0 && (
        <Kind name={words.kinds.prefill} count={words.tokens(step.prefill)}>
          {chunks.slice(0, MOST).map(({ request, start, tokens }) => (
            <span key={request} title={words.chunk(start, tokens)}>
              <RequestLink request={request} /> <span class="num dim">{integer(tokens)}</span>
            </span>
          ))}
          {more(chunks.length - MOST)}
        </Kind>
      )}
      {decode > 0 && <Kind name={words.kinds.decode} count={words.tokens(decode)} />}
      {copies.length > 0 && (
        <Kind name={words.kinds.copy} count={integer(copies.length)}>
          {copies.slice(0, MOST).map(({ sequence, label, source, target }) => (
            <span key={target}>
              <button type="button" class="link num" onClick={() => selectSequence(sequence)}>
                {label}
              </button>{' '}
              <BlockButton block={source} /> → <BlockButton block={target} />
            </span>
          ))}
          {more(copies.length - MOST)}
        </Kind>
      )}
      {evictions > 0 && (
        <Kind name={words.kinds.evict} count={integer(evictions)}>
          {evicted.slice(0, MOST).map((block, i) => (
            <BlockButton key={i} block={block} />
          ))}
          {more(evictions - Math.min(MOST, evicted.length))}
        </Kind>
      )}
    </div>
  );
}

function BlockButton({ block }: { readonly block: number }) {
  return (
    <button
      type="button"
      class="link num"
      onPointerEnter={() => hoverBlock(block)}
      onPointerLeave={() => hoverBlock(null)}
      onClick={() => selectBlock(block)}
    >
      {block}
    </button>
  );
}

function Step({ step }: { readonly step: StepSummary }) {
  const operations = Object.entries(step.operations).filter(([, count]) => count > 0);
  const whole = step.times.reduce((sum, each) => sum + each, 0);
  return (
    <>
      <div class="head">
        <h2>{text.scheduler.thisStep(step.step)}</h2>
        <span class="note num">{whole > 0 ? duration(whole) : ''}</span>
      </div>
      {whole > 0 && (
        <div
          class="phases"
          role="img"
          aria-label={text.scheduler.times.map((name, i) => `${name} ${duration(step.times[i]!)}`).join(', ')}
        >
          {text.scheduler.times.map((name, i) => (
            <span
              key={name}
              class={`phase p${i}`}
              style={{ flexGrow: step.times[i]! / whole }}
              title={`${name} ${duration(step.times[i]!)}`}
            >
              {step.times[i]! / whole > 0.18 ? name : ''}
            </span>
          ))}
        </div>
      )}
      <div class="counts">
        {operations.length === 0 && <span class="faint">{text.scheduler.didNothing}</span>}
        {operations.map(([name, count]) => (
          <span key={name}>
            {name} <b class="num">{integer(count)}</b>
          </span>
        ))}
      </div>
      <Kinds step={step} />
      <div class="lines">
        {step.preempted.map((each) => (
          <div key={`p${each.request}`} class="line two">
            <RequestLink request={each.request} />
            <span class="warn">{text.scheduler.preempted(`r${each.for}`, each.blocks, each.tokens)}</span>
          </div>
        ))}
        {step.admitted.map((each) => (
          <div key={`a${each.request}`} class="line two">
            <RequestLink request={each.request} />
            <span>{text.scheduler.admitted(each.tokens, each.hit)}</span>
          </div>
        ))}
        {step.ended.map((each) => (
          <div key={`e${each.request}`} class="line two">
            <RequestLink request={each.request} />
            <span class={each.how === 'refused' || each.how === 'error' ? 'warn' : ''}>
              {text.scheduler.ended(each.how)}
            </span>
          </div>
        ))}
      </div>
    </>
  );
}

function Figures({ answer }: { readonly answer: SchedulerAnswer }) {
  const { step, running, maxRunning } = answer;
  return (
    <div class="meters">
      <Meter
        label={text.scheduler.running}
        value={text.scheduler.runningOf(running, maxRunning)}
        part={maxRunning === null ? 0 : running / maxRunning}
      />
      <Meter
        label={text.scheduler.budget}
        value={step === null ? '–' : text.scheduler.ofBudget(step.tokens, step.budget)}
        part={step === null || step.budget === 0 ? 0 : step.tokens / step.budget}
      />
      {step !== null && (
        <p class="dim num quiet">
          {text.scheduler.prefill(step.prefill)} · {text.scheduler.decode(step.decode)}
        </p>
      )}
    </div>
  );
}

export function Scheduler() {
  const answer = scheduler.value;
  return (
    <section
      class="scroller scheduler"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region has to take the focus to be scrolled by keys
      tabIndex={0}
      aria-label={text.panels.scheduler}
      data-panel="scheduler"
    >
      {answer !== null && (
        <>
          <Figures answer={answer} />
          {answer.step === null ? (
            <p class="faint quiet">{text.scheduler.notLoaded}</p>
          ) : (
            <Step step={answer.step} />
          )}
          <div class="head">
            <h2>{text.panels.waiting}</h2>
            <span class="note num">{answer.waitingTotal > 0 ? integer(answer.waitingTotal) : ''}</span>
          </div>
          <Waiting rows={answer.waiting} total={answer.waitingTotal} />
        </>
      )}
    </section>
  );
}
