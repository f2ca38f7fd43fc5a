/**
 * What a sampled token could have been instead: beside the token that the pointer or the keyboard is at.
 *
 *     ␣light          61.2 %   rank 1
 *     ██████ ␣light   61.2 %
 *     ██     ␣sea     18.4 %
 *     ▌      ␣old      4.0 %
 */

import { probability } from '../format';
import { token } from '../store/ledger';
import { pointed, pointNowhere } from '../store/odds';
import { text } from '../text';
import { visible } from '../wording/piece';
import type { LikelyToken } from '../worker/answers/said';

const words = text.odds;
const WIDTH = 250;
const MARGIN = 6;

function Name({ each }: { readonly each: LikelyToken }) {
  return (
    <span class="num name" title={words.token(each.token)}>
      {each.piece === null ? `#${each.token}` : visible(each.piece)}
    </span>
  );
}

function Row({ each, isSampled }: { readonly each: LikelyToken; readonly isSampled: boolean }) {
  return (
    <li class={isSampled ? 'sampled' : ''}>
      <span class="odd" aria-hidden="true">
        <i style={{ width: `${100 * Math.exp(each.logprob)}%` }} />
      </span>
      <Name each={each} />
      <span class="num">{probability(each.logprob)}</span>
    </li>
  );
}

export function TokenCard() {
  const at = pointed.value;
  const told = token.value;
  if (at === null || told === null || told.sequence !== at.sequence || told.place !== at.place) return null;
  const isBelow = at.bottom + 60 + 19 * (told.top.length + 1) < window.innerHeight;
  const isAmong = told.top.some((each) => each.token === told.token);
  return (
    <div
      class="tip tokencard"
      role="tooltip"
      style={{
        width: `${WIDTH}px`,
        left: `${Math.max(MARGIN, Math.min(at.left, window.innerWidth - WIDTH - MARGIN))}px`,
        ...(isBelow ? { top: `${at.bottom + 4}px` } : { bottom: `${window.innerHeight - at.top + 4}px` }),
      }}
      onPointerEnter={pointNowhere}
    >
      <p>
        <Name each={told} /> <b class="num">{probability(told.logprob)}</b>{' '}
        <span class="dim">{words.rank(told.rank)}</span>
      </p>
      <p class="faint num">{words.logprob(told.token, told.logprob)}</p>
      {at.count > 1 && <p class="faint">{words.several(at.count)}</p>}
      {told.top.length > 0 && (
        <ol>
          {told.top.map((each) => (
            <Row key={each.token} each={each} isSampled={each.token === told.token} />
          ))}
          {!isAmong && <Row each={told} isSampled={true} />}
        </ol>
      )}
    </div>
  );
}

/** Switches the shading, and says how to read it. */
export function Shading({
  on,
  onChange,
}: {
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}) {
  return (
    <div class="shading">
      <label class="check">
        <input type="checkbox" checked={on} onChange={(event) => onChange(event.currentTarget.checked)} />
        {words.shade}
      </label>
      {on && (
        <span class="scale faint num" title={words.scaleTitle}>
          {words.scale.map((least, i) => (
            <span key={least} class={`o${i}`}>
              {least}
            </span>
          ))}
        </span>
      )}
    </div>
  );
}
