/** Where the memory goes. */

import { integer, percent } from '../../format';
import type { Memory as MemoryTold } from '../../store/generated/answers';
import { text } from '../../text';
import { Holders } from './Holders';
import { Fact } from './Told';

const words = text.why.memory;
const KINDS = ['active', 'shared', 'cached', 'free'] as const;

export function Memory({ answer }: { readonly answer: MemoryTold }) {
  const { pool, slots, unused, entries, saved, pinned, requests } = answer;
  return (
    <>
      <p class="because">{words.told(pool, answer.active + answer.shared)}</p>
      <div class="pooled" aria-hidden="true">
        {KINDS.map((kind) => (
          <i key={kind} class={kind} style={{ width: `${(100 * answer[kind]) / Math.max(1, pool)}%` }} />
        ))}
      </div>
      <p class="pooledlegend">
        {KINDS.map((kind) => (
          <span key={kind}>
            <i class={`swatch ${kind}`} />
            {text.states[kind]} <b class="num">{integer(answer[kind])}</b>
          </span>
        ))}
      </p>
      <dl class="pairs">
        {slots > 0 && (
          <Fact name={words.unused}>
            {words.unusedOf(unused, slots, percent(unused, slots))}
            <span class="dim">, {words.tails(answer.tails, answer.reserved)}</span>
          </Fact>
        )}
        {entries > 0 && (
          <Fact name={words.sharing}>{words.saves(saved, entries, percent(saved, entries))}</Fact>
        )}
        {answer.duplicates > 0 && (
          <Fact name={words.duplicates}>{words.duplicatesTold(answer.duplicates)}</Fact>
        )}
        {pinned.pins > 0 && <Fact name={words.pins}>{words.pinned(pinned.pins, pinned.blocks)}</Fact>}
      </dl>
      {requests.length === 0 ? (
        <p class="faint quiet">{words.nobody}</p>
      ) : (
        <Holders list={requests} name={text.why.holders.requests} />
      )}
    </>
  );
}
