/** What is in the rectangle of the map that the reader marked: by state and ref count, how full, whose. */

import { integer } from '../format';
import { inside } from '../store/ledger';
import { rectangle } from '../store/rectangle';
import { selection, selectRequest } from '../store/selection';
import { text } from '../text';
import { isSame, type RectangleAnswer } from '../worker/rectangle';
import { EDGES } from '../worker/shades';

const words = text.rectangle;
const STATES = ['free', 'cached', 'active', 'shared'] as const;
/** As the legend has them. */
const SHOWN = [2, 3, 1, 0] as const;

function States({ states, blocks }: Pick<RectangleAnswer, 'states' | 'blocks'>) {
  return (
    <>
      <div class="parts" aria-hidden="true">
        {SHOWN.map((each) => (
          <i key={each} class={STATES[each]} style={{ flexGrow: states[each]! / blocks }} />
        ))}
      </div>
      {SHOWN.map((each) => (
        <span key={each} class="part" data-state={STATES[each]}>
          <i class={`swatch ${STATES[each]}`} />
          {text.states[STATES[each]]} <b class="num">{integer(states[each]!)}</b>
        </span>
      ))}
    </>
  );
}

function refsRange(part: number): string {
  const edges = EDGES.refs;
  if (part === 0) return '0';
  return text.colouring.range(edges[part - 1]!, part < edges.length ? edges[part]! - 1 : null);
}

function Refs({ refs }: Pick<RectangleAnswer, 'refs'>) {
  return (
    <>
      {refs.map((blocks, part) => {
        const range = refsRange(part);
        return (
          blocks > 0 && (
            <span key={range} class="part num" title={words.refsTitle(range, blocks)} data-refs={range}>
              {words.refsOf(range, blocks)}
            </span>
          )
        );
      })}
    </>
  );
}

function Requests({ requests, others }: Pick<RectangleAnswer, 'requests' | 'others'>) {
  if (requests.length === 0) return <span class="faint">{words.nobody}</span>;
  return (
    <ul class="owners">
      {requests.map(({ request, name, blocks }) => (
        <li key={request} data-request={request}>
          <button
            type="button"
            class={`link num${selection.value.request === request ? ' on' : ''}`}
            onClick={() => selectRequest(request)}
          >
            r{request}
          </button>{' '}
          <span class="dim">{name}</span>
          <b class="num">{integer(blocks)}</b>
        </li>
      ))}
      {others > 0 && <li class="dim">{words.others(others)}</li>}
    </ul>
  );
}

export function RectangleFacts() {
  const told = inside.value;
  if (told === null || rectangle.value === null || !isSame(told.rectangle, rectangle.value)) {
    return (
      <p class="faint quiet" role="status">
        {words.counting}
      </p>
    );
  }
  if (told.blocks === 0) return <p class="faint quiet">{words.empty}</p>;
  return (
    <div class="rectangle" data-testid="rectangle">
      <p class="big num">
        {integer(told.blocks)}
        <small>{words.blocks(told.blocks, told.step)}</small>
      </p>
      <dl class="pairs">
        <dt>{words.states}</dt>
        <dd>
          <States states={told.states} blocks={told.blocks} />
        </dd>
        <dt>{words.refs}</dt>
        <dd>
          <Refs refs={told.refs} />
        </dd>
        <dt>{words.slots}</dt>
        <dd class="num">{words.filled(told.filled, told.slots)}</dd>
        <dt>{words.contents}</dt>
        <dd class="num">{words.held(told.contents, told.hits)}</dd>
        <dt title={words.requestsTitle}>{words.requests}</dt>
        <dd>
          <Requests requests={told.requests} others={told.others} />
        </dd>
      </dl>
    </div>
  );
}
