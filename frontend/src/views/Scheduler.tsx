/** The scheduler: who waits and why, and what the present step did. */

import { duration, integer } from '../format';
import { scheduler } from '../store/ledger';
import { selection, selectRequest } from '../store/selection';
import { text } from '../text';
import type { SchedulerAnswer, StepSummary, WaitingRow } from '../worker/answers/scheduler';

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
          <b class={row.state}>{row.state}</b>
          <span>{text.waiting(row.reason)}</span>
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
    <div class="strip">
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
