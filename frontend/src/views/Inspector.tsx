/** The inspector: the selected block and request, or the session when nothing is selected. */

import { Fragment } from 'preact';
import { bytes, integer } from '../format';
import { NONE } from '../ledger/generated/constants';
import { block, hello, request } from '../store/ledger';
import { rectangle, unmarkRectangle } from '../store/rectangle';
import { clearSelection, selectBlock, selection, selectSequence } from '../store/selection';
import { aboutRequest, askWhy } from '../store/why';
import { text } from '../text';
import { PIN_NAMES } from '../wording/events';
import { oneLine } from '../wording/piece';
import type { BlockAnswer, Holder } from '../worker/answers/inspect';
import type { RequestAnswer } from '../worker/answers/request';
import { lengthOf } from '../worker/answers/runs';
import { Biography } from './Biography';
import { Conversation } from './Conversation';
import { Elsewhere } from './Elsewhere';
import { KeysAndValues } from './KeysAndValues';
import { RectangleFacts } from './RectangleFacts';
import { Sampling } from './Sampling';
import { Session } from './SessionFacts';
import { Slots, textOf } from './Slots';
import { Splitter } from './Splitter';
import { UnknownRequest } from './UnknownRequest';
import { AskWhy } from './why/AskWhy';
import { Why } from './why/Why';

const HOLDERS = 12;

function Holders({ holders }: { readonly holders: readonly Holder[] }) {
  return (
    <>
      {holders.slice(0, HOLDERS).map((holder, i) => (
        <span key={`${holder.sequence}-${holder.group}`}>
          {i > 0 && ' · '}
          <button type="button" class="link num" onClick={() => selectSequence(holder.sequence)}>
            {holder.label}
          </button>
        </span>
      ))}
      {holders.length > HOLDERS && (
        <span class="faint"> · {text.inspector.more(holders.length - HOLDERS)}</span>
      )}
    </>
  );
}

function stateOf(answer: BlockAnswer): string {
  if (answer.count > 1) return text.states.shared;
  if (answer.count === 1) return text.states.active;
  return answer.content === NONE ? text.states.free : text.states.cached;
}

function kindOf(answer: BlockAnswer): 'active' | 'shared' | 'cached' | 'free' {
  if (answer.count > 0) return answer.count > 1 ? 'shared' : 'active';
  return answer.content === NONE ? 'free' : 'cached';
}

/** A content: how its text begins, and its id; the id alone where there is no text. */
function Content({ id, start }: { readonly id: number; readonly start: string | null }) {
  if (start === null) return <span class="num">{integer(id)}</span>;
  return (
    <>
      <span class="start">“{oneLine(start)} …”</span>{' '}
      <span class="num faint" title={text.inspector.contentId(id)}>
        {integer(id)}
      </span>
    </>
  );
}

/** A block without a content: one that is held and not full has none yet, but its text stands in it. */
function Unlabelled({ answer, size }: { readonly answer: BlockAnswer; readonly size: number }) {
  if (answer.count === 0 || answer.filled >= size) return <span class="faint">{text.inspector.none}</span>;
  const words = textOf(answer.slots)
    .map((part) => part.text)
    .join('');
  return (
    <>
      {words !== '' && <span class="start">“{oneLine(words)} …” </span>}
      <span class="faint">{text.inspector.notLabelled}</span>
    </>
  );
}

function Block({ answer }: { readonly answer: BlockAnswer }) {
  const size = hello.value?.block_size ?? 1;
  const each = hello.value?.kv_bytes_per_block ?? 0;
  return (
    <>
      <p class="big num">
        {answer.block}
        <small>
          {answer.generation === 0 ? text.inspector.neverUsed : `#${answer.generation}`}
          {each > 0 && ` · ${text.inspector.bytesEach(bytes(each))}`}
        </small>
      </p>
      <dl class="pairs">
        <dt>{text.inspector.state}</dt>
        <dd>
          <i class={`swatch ${kindOf(answer)}`} />
          {stateOf(answer)}
          {answer.count > 0 && (
            <>
              , <b class="num">{text.inspector.refCount(answer.count)}</b>
            </>
          )}
        </dd>
        <dt>{text.inspector.heldBy}</dt>
        <dd>
          {answer.holders.length === 0 && answer.pins.length === 0 && (
            <span class="faint">{text.inspector.nobody}</span>
          )}
          <Holders holders={answer.holders} />
          {answer.pins.map(({ pin, times }) => (
            <span key={pin}>
              {' '}
              {text.inspector.pinned(PIN_NAMES[pin] ?? String(pin))}
              {times > 1 && ` × ${times}`}
            </span>
          ))}
        </dd>
        <dt>{text.inspector.content}</dt>
        <dd>
          {answer.content === NONE ? (
            <Unlabelled answer={answer} size={size} />
          ) : (
            <>
              <Content id={answer.content} start={answer.start} />{' '}
              <span class="dim">
                ←{' '}
                {answer.parent === null ? (
                  text.inspector.parentUnknown
                ) : answer.parent === NONE ? (
                  text.inspector.noParent
                ) : (
                  <Content id={answer.parent} start={answer.parentStart} />
                )}
              </span>
            </>
          )}
        </dd>
        {answer.twins.length > 0 && (
          <>
            <dt>{text.inspector.also}</dt>
            <dd class="num">
              {answer.twins.map((twin) => (
                <button key={twin} type="button" class="link" onClick={() => selectBlock(twin)}>
                  {twin}{' '}
                </button>
              ))}
            </dd>
          </>
        )}
        <dt>{text.inspector.filled}</dt>
        <dd class="num">
          {answer.filled} / {size}
          {answer.content !== NONE && (
            <span class="dim">
              {' '}
              · {text.inspector.hits} {integer(answer.hits)}
            </span>
          )}
        </dd>
        {answer.run !== null && (
          <>
            <dt>{text.inspector.run}</dt>
            <dd class="num">
              {text.runs.range(answer.run.first, answer.run.last)}{' '}
              <span class="faint">· {text.runs.run(lengthOf(answer.run))}</span>
            </dd>
          </>
        )}
        {answer.ticket !== null && answer.rank !== null && (
          <>
            <dt>{text.inspector.queue}</dt>
            <dd class="num">
              <span class={answer.rank === 0 ? 'warn' : ''}>
                {text.inspector.rank(answer.rank, answer.queued)}
              </span>{' '}
              <span class="faint">
                · {text.inspector.ticket} {integer(answer.ticket)}
              </span>
            </dd>
          </>
        )}
      </dl>
      <Slots slots={answer.slots} filled={answer.filled} size={size} state={kindOf(answer)} />
      <KeysAndValues answer={answer} />
      <Biography list={answer.biography} own="block" />
    </>
  );
}

function Request({ answer }: { readonly answer: RequestAnswer }) {
  return (
    <>
      <p class="big num">
        r{answer.request}
        <small class="username">{answer.name}</small>
      </p>
      <dl class="pairs">
        <dt>{text.inspector.state}</dt>
        <dd>
          {answer.state !== null ? (
            <b class={answer.state}>{text.tables.states[answer.state]}</b>
          ) : answer.ending !== null ? (
            <>
              {text.inspector.ended(
                text.timeline.ends[answer.ending.kind],
                // Of several samples each has its own, below.
                answer.sequences.some((each) => each.end !== null) && answer.n > 1
                  ? null
                  : answer.ending.reason,
                answer.ending.stop_reason ?? null,
                answer.ending.step,
              )}
              {answer.ending.message !== null && <span class="dim">: {answer.ending.message}</span>}
            </>
          ) : (
            <span class="faint" role="status">
              <Elsewhere filter={`owner:r${answer.request}`} said={text.inspector.notThere} />
            </span>
          )}
        </dd>
        {answer.state !== null && answer.state !== 'running' && (
          <>
            <dt>{text.inspector.why}</dt>
            <dd>
              {text.waiting(answer.reason)}
              <AskWhy kind="waits" ask={() => aboutRequest('waits', answer.request)} />
            </dd>
          </>
        )}
        <dt>{text.inspector.prompt}</dt>
        <dd class="num">
          {text.inspector.tokens(answer.prompt)}{' '}
          <span class="dim">+ {text.inspector.toGenerate(answer.maxTokens, answer.n)}</span>
        </dd>
        {answer.n > 1 && (
          <>
            <dt>{answer.beamWidth === null ? text.inspector.samples : text.beams.wanted}</dt>
            <dd class="num">{answer.n}</dd>
          </>
        )}
        {(
          [
            [text.beams.width, answer.beamWidth],
            [text.inspector.loraName, answer.loraName],
            [text.inspector.cacheSalt, answer.cacheSalt],
          ] as const
        ).map(
          ([name, value]) =>
            value !== null && (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd class="num">{value}</dd>
              </Fragment>
            ),
        )}
        {answer.priority !== 0 && (
          <>
            <dt>{text.inspector.priority}</dt>
            <dd class="num">{answer.priority}</dd>
          </>
        )}
        <Sampling submit={answer.submit} />
      </dl>
      <Conversation answer={answer} />
      <Biography list={answer.story} own="request" />
    </>
  );
}

export function Inspector() {
  const chosen = selection.value;
  const hasBlock = chosen.block !== null;
  const hasRequest = chosen.sequence !== null || chosen.request !== null;
  const isMarked = rectangle.value !== null;
  const selected = hasBlock ? text.panels.block : hasRequest ? text.panels.request : text.panels.session;
  const title = isMarked ? text.rectangle.title : selected;
  return (
    <section class="panel inspector" aria-label={text.panels.inspector}>
      <Why />
      <div class="head">
        <h2>{title}</h2>
        <button
          type="button"
          class="link askwhy"
          title={text.why.askTitle}
          aria-label={text.why.askTitle}
          onClick={() => void askWhy()}
        >
          {text.why.ask}
        </button>
        {(isMarked || hasBlock || hasRequest) && (
          <button
            type="button"
            class="plain close"
            aria-label={isMarked ? text.rectangle.unmark : text.inspector.clear}
            title={isMarked ? text.rectangle.unmark : `${text.inspector.clear} (Esc)`}
            onClick={isMarked ? unmarkRectangle : clearSelection}
          >
            ✕
          </button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region has to take the focus to be scrolled by keys */}
      <section class="scroller" tabIndex={0} aria-label={title} data-panel="inspector">
        {isMarked && <RectangleFacts />}
        {isMarked && (hasBlock || hasRequest) && (
          <div class="head divider">
            <h2>{selected}</h2>
          </div>
        )}
        {hasBlock && block.value !== null && <Block answer={block.value} />}
        {hasBlock && hasRequest && (
          <div class="head divider">
            <h2>{text.panels.request}</h2>
          </div>
        )}
        {hasRequest && (request.value === null ? <UnknownRequest /> : <Request answer={request.value} />)}
        {!isMarked && !hasBlock && !hasRequest && <Session />}
      </section>
      <Splitter panel="inspector" side="left" />
    </section>
  );
}
