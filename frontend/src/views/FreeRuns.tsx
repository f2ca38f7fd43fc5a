/** The free runs of a contiguous cache, by address: nobody is next, the first run that is long enough is taken. */

import { hello, runs } from '../store/ledger';
import { text } from '../text';
import { lengthOf } from '../worker/answers/runs';
import { type Chip, digitsOf, QueueRow, useFits } from './QueueRow';
import { Splitter } from './Splitter';

export function FreeRuns() {
  const answer = runs.value;
  const width = 28 + 14 * digitsOf(hello.value?.num_blocks);
  const { row, fits } = useFits(width);
  const { largest = null } = answer ?? {};
  const shown = answer?.runs.slice(0, fits) ?? [];
  const chips = shown.map(
    (run): Chip => ({
      ...run,
      label: text.runs.range(run.first, run.last),
      looks: [largest?.first === run.first && 'largest'],
      title: text.runs.run(lengthOf(run)),
    }),
  );
  return (
    <section class="queue" aria-label={text.panels.runs}>
      <div class="head">
        <h2>{text.panels.runs}</h2>
        <span class="next">
          {text.runs.firstFit}
          {largest !== null && (
            <>
              {' · '}
              {text.runs.largest} <b class="num">{lengthOf(largest)}</b>
            </>
          )}
        </span>
        <span class="note num">{answer === null ? '' : text.runs.summary(answer.free, answer.count)}</span>
      </div>
      <QueueRow
        row={row}
        label={text.panels.runs}
        width={width}
        chips={chips}
        empty={answer?.count === 0 ? text.runs.empty : null}
        more={answer === null ? 0 : answer.count - chips.length}
      />
      <Splitter panel="queue" side="top" />
    </section>
  );
}
