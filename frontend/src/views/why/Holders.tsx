/** Who holds blocks, as bars: those that nobody else holds, and those that are shared. */

import { useState } from 'preact/hooks';
import type { Holder } from '../../store/generated/answers';
import { text } from '../../text';
import { Whom } from './Told';

const words = text.why.holders;
/** So many are shown unasked. */
const FEW = 12;

export function Holders({
  list,
  name,
  marked = null,
}: {
  readonly list: readonly Holder[];
  readonly name: string;
  /** The request that the answer is about. */
  readonly marked?: number | null;
}) {
  const [isWhole, showAll] = useState(false);
  if (list.length === 0) return null;
  const most = Math.max(...list.map(({ blocks }) => blocks), 1);
  const shown = isWhole ? list : list.filter(({ who }, at) => at < FEW || who.request === marked);
  const share = (count: number): string => `${(100 * count) / most}%`;
  return (
    <>
      <h4>{name}</h4>
      <ul class="holders">
        {shown.map(({ who, blocks, entries, alone, unused }) => (
          <li
            key={who.request}
            class={who.request === marked ? 'marked' : ''}
            title={words.rowTitle(blocks, entries, alone, unused)}
          >
            <Whom who={who} />
            <span class="num dim">{words.row(blocks, alone)}</span>
            <span class="amount" aria-hidden="true">
              <i class="alone" style={{ width: share(alone) }} />
              <i class="shared" style={{ width: share(blocks - alone) }} />
            </span>
            {who.request === marked && <span class="warn">{words.preempted}</span>}
          </li>
        ))}
      </ul>
      {shown.length < list.length && (
        <button type="button" class="link quiet" onClick={() => showAll(true)}>
          {words.all(list.length)}
        </button>
      )}
    </>
  );
}
