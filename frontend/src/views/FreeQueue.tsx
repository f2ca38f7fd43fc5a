/** The free queue, head to tail: who goes next, and what it would lose. */

import { useMemo } from 'preact/hooks';
import { NONE } from '../ledger/generated/constants';
import { hello, queue } from '../store/ledger';
import { picture } from '../store/picture';
import { text } from '../text';
import { hasContent } from '../worker/word';
import { QueueMoves } from './QueueMoves';
import { type Chip, digitsOf, QueueRow, useFits } from './QueueRow';
import { Splitter } from './Splitter';

function chipOf(block: number, isNext: boolean): Chip {
  const looks = [isNext && 'next', hasContent(picture.wordOf(block)) && 'cached'];
  return { first: block, last: block, label: String(block), looks };
}

export function FreeQueue() {
  const width = Math.max(36, 12 + 7 * digitsOf(hello.value?.num_blocks));
  const { row, fits } = useFits(width);
  const answer = queue.value;
  const order = hello.value?.config?.free_order;
  // Whoever points somewhere finds the words that they had at this step.
  const chips = useMemo(
    () => Array.from(answer?.head.subarray(0, fits) ?? [], (block, i): Chip => chipOf(block, i === 0)),
    [answer, fits],
  );
  const next = chips[0]?.first;
  return (
    <section class="queue" aria-label={text.panels.queue}>
      <div class="head">
        <h2>{text.panels.queue}</h2>
        {next !== undefined && answer !== null && (
          <span class="next">
            {text.queue.next} <b class="num">{next}</b>{' '}
            {answer.loses === NONE
              ? text.queue.nothing
              : text.queue.loses(answer.loses, answer.start, answer.hits)}
          </span>
        )}
        <span class="note num">
          {answer === null ? '' : text.queue.summary(answer.length, typeof order === 'string' ? order : '')}
        </span>
      </div>
      <QueueRow
        row={row}
        label={text.panels.queue}
        width={width}
        chips={chips}
        empty={answer?.length === 0 ? text.queue.empty : null}
        more={answer === null ? 0 : answer.length - chips.length}
      />
      <QueueMoves moves={answer?.moves ?? null} />
      <Splitter panel="queue" side="top" />
    </section>
  );
}
