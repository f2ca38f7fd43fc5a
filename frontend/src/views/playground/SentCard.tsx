/** One request that was sent from here: its state, its blocks, and the text of each of its sequences as it grows. */

import { focusPanel } from '../../store/layout';
import { position, requests } from '../../store/ledger';
import { abort, draft, edit, hasChat, type Sent } from '../../store/playground';
import { selection, selectRequest, selectSequence } from '../../store/selection';
import { text } from '../../text';
import type { RequestAnswer, SequenceAnswer } from '../../worker/answers/request';
import { Answers } from '../Answers';
import { ChipRow } from '../ChipRow';
import { Said } from '../Said';

const words = text.playground;

interface State {
  readonly told: string;
  readonly kind: 'ok' | 'warn' | 'dim';
  /** For who listens: without figures that change at each step. */
  readonly calm?: string;
}

/** What it does now, as one line, and how that is to be taken. */
function stateOf(answer: RequestAnswer | undefined): State {
  if (answer === undefined)
    return {
      told: position.value.mode === 'follow' ? words.waitingForStep : words.notHere,
      kind: 'dim',
    };
  const { ending, state, written } = answer;
  if (ending !== null) {
    if (ending.kind === 'refused') return { told: words.refused(ending.message ?? ''), kind: 'warn' };
    if (ending.kind === 'aborted') return { told: words.aborted, kind: 'warn' };
    // Of several samples each says how it ended.
    const each = answer.n > 1 && answer.sequences.some(({ end }) => end !== null);
    const bad = ending.reason === 'error' || ending.reason === 'capacity';
    const why = ending.message === null ? '' : `: ${ending.message}`;
    const how =
      each || ending.reason === null ? null : text.ending(ending.reason, ending.stop_reason ?? null);
    return { told: `${words.finished(how)}${why}`, kind: bad ? 'warn' : 'dim' };
  }
  if (state === 'waiting') return { told: words.waits(text.waiting(answer.reason)), kind: 'warn' };
  if (state === 'preempted') return { told: words.preempted(text.waiting(answer.reason)), kind: 'warn' };
  if (state === null) return { told: words.notHere, kind: 'dim' };
  if (written < answer.prompt)
    return { told: words.prefill(written, answer.prompt), kind: 'ok', calm: words.prefilling };
  return { told: words.decoding, kind: 'ok' };
}

function Voice({ answer, each }: { readonly answer: RequestAnswer; readonly each: SequenceAnswer }) {
  const isOn = selection.value.sequence === each.sequence;
  const grows = answer.state === 'running' && !each.dropped;
  return (
    <div class={`voice${isOn ? ' on' : ''}`}>
      {answer.sequences.length > 1 && (
        <div class="title">
          <button
            type="button"
            class={`link num${isOn ? ' on' : ''}`}
            onClick={() => selectSequence(each.sequence)}
          >
            {each.label}
          </button>
          <span class="num dim">
            {text.said.tokens(each.said?.tokens ?? 0)}
            {each.end !== null
              ? ` · ${text.ending(each.end.reason, each.end.by)}`
              : each.dropped && ` · ${text.said.dropped}`}
          </span>
        </div>
      )}
      {each.table.length > 0 && <ChipRow blocks={each.table} copies={each.copies} lines={2} />}
      <Said said={each.said} label={each.label} kind="sampled" grows={grows} />
    </div>
  );
}

function Buttons({ answer, sent, live }: { readonly answer: RequestAnswer } & Props) {
  if (!live) return null;
  const part = answer.beamWidth !== null ? 'best' : answer.n > 1 ? 'first' : 'all';
  const goesOn = hasChat.value && sent.chat && answer.ending?.kind === 'finished';
  return (
    <span class="tools">
      {answer.state !== null && (
        <button type="button" class="btn small" onClick={() => void abort(answer.request)}>
          {words.abort}
        </button>
      )}
      {goesOn && (
        <button
          type="button"
          class={`btn small${draft.value.follow === answer.request ? ' on' : ''}`}
          title={words.followUpTitle(part)}
          onClick={() => {
            // A further turn is one answer, unless more are asked for again.
            edit({ follow: answer.request, followed: part, n: '1', beam_width: '' });
            focusPanel('playground');
          }}
        >
          {words.followUp(answer.request, part)}
        </button>
      )}
    </span>
  );
}

interface Props {
  readonly sent: Sent;
  readonly live: boolean;
}

/** Tokens that it has said so far; of a beam search that has ended, those of its answers. */
function sampledBy({ sequences, answers, beamWidth, ending, n }: RequestAnswer): number {
  const lengths =
    beamWidth !== null && ending !== null
      ? answers.slice(0, n).map(({ tokens }) => tokens ?? 0)
      : sequences.map(({ said }) => said?.tokens ?? 0);
  return lengths.reduce((sum, each) => sum + each, 0);
}

export function SentCard({ sent, live }: Props) {
  const answer = requests.value.get(sent.request);
  const { told, kind, calm } = stateOf(answer);
  const isOn =
    selection.value.request === sent.request ||
    (answer?.sequences.some((each) => each.sequence === selection.value.sequence) ?? false);
  const sampled = answer === undefined ? 0 : sampledBy(answer);
  const textState = answer?.text.state;
  return (
    <article
      class={`sent${isOn ? ' selected' : ''}`}
      aria-label={`r${sent.request}`}
      data-request={sent.request}
    >
      <div class="title">
        <button
          type="button"
          class={`link num id${isOn ? ' on' : ''}`}
          onClick={() => selectRequest(sent.request)}
        >
          r{sent.request}
        </button>
        {sent.follow !== null && (
          <span class="faint">{words.follows(sent.follow, sent.followed ?? 'all')}</span>
        )}
        <span class={`state ${kind}`} title={told}>
          {told}
        </span>
        <span class="unseen" aria-live="polite">
          {words.announce(sent.request, calm ?? told)}
        </span>
        {answer !== undefined && <Buttons answer={answer} sent={sent} live={live} />}
      </div>
      <p class="asked" title={sent.prompt}>
        {sent.prompt}
      </p>
      {answer !== undefined && answer.ending?.kind !== 'refused' && (
        <p class="figures num dim">
          <span>{words.tokens(answer.prompt, sampled)}</span>
          {answer.blocks > 0 && <span>{words.blocks(answer.blocks, answer.sharedBlocks)}</span>}
          {answer.rate !== null && <span>{words.rate(answer.rate)}</span>}
        </p>
      )}
      {textState === 'none' && <p class="faint">{text.said.notRecorded}</p>}
      {answer !== undefined && answer.beamWidth !== null && <Answers answer={answer} only={answer.n} />}
      {answer?.sequences.map((each) => (
        <Voice key={each.sequence} answer={answer} each={each} />
      ))}
    </article>
  );
}
