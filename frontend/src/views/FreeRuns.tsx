/** The free runs of a contiguous cache, by address: nobody is next, the first run that is long enough is taken. */

import { hello, runs } from '../store/ledger';
import { hover, hoverBlock, selectBlock, selection } from '../store/selection';
import { text } from '../text';
import { lengthOf, type Run } from '../worker/answers/runs';
import { useFits } from './FreeQueue';

function isIn(run: Run, block: number | null): boolean {
  return block !== null && run.first <= block && block <= run.last;
}

export function FreeRuns() {
  const answer = runs.value;
  const digits = String(Math.max(0, (hello.value?.num_blocks ?? 1) - 1)).length;
  const chip = 28 + 14 * digits;
  const { row, fits } = useFits(chip);
  const { largest = null } = answer ?? {};
  const shown = answer?.runs.slice(0, fits) ?? [];
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
      <div
        class="queuerow"
        ref={row}
        tabIndex={0}
        role="listbox"
        aria-label={text.panels.runs}
        aria-orientation="horizontal"
        data-panel="queue"
        style={{ '--chip': `${chip}px` }}
        onKeyDown={(event) => {
          const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
          if (by === 0) return;
          event.preventDefault();
          const at = shown.findIndex((run) => isIn(run, selection.value.block));
          selectBlock(shown[Math.max(0, Math.min(shown.length - 1, at + by))]?.first ?? null);
        }}
        onPointerLeave={() => hoverBlock(null)}
      >
        {answer !== null && answer.count === 0 && <span class="warn">{text.runs.empty}</span>}
        {shown.map((run) => {
          const isHot = isIn(run, hover.value.block) || isIn(run, selection.value.block);
          return (
            <span
              key={run.first}
              role="option"
              aria-selected={isIn(run, selection.value.block)}
              tabIndex={-1}
              title={text.runs.run(lengthOf(run))}
              class={`qchip${isHot ? ' hot' : ''}${largest?.first === run.first ? ' largest' : ''}`}
              onPointerOver={() => hoverBlock(run.first)}
              onClick={() => selectBlock(isIn(run, selection.value.block) ? null : run.first)}
              onKeyDown={undefined}
            >
              {text.runs.range(run.first, run.last)}
            </span>
          );
        })}
        {answer !== null && answer.count > shown.length && (
          <span class="faint more">{text.queue.more(answer.count - shown.length)}</span>
        )}
      </div>
    </section>
  );
}
