/** What is under the pointer on the timeline: steps, a landmark, or a request in a step. */

import { position, series, usable } from '../../store/ledger';
import { text } from '../../text';
import { COUNTED } from '../../worker/landmarks';
import type { LaneRow } from '../../worker/lanes';
import type { Mark } from './marks';
import { hovered, hoveredMark, hoveredRow, hoveredStep } from './pointer';
import { layout } from './range';
import { doneIn } from './rows';

function MarkTip({ mark, x }: { readonly mark: Mark; readonly x: number }) {
  const { kind, count, step, message } = mark;
  const isCounted = COUNTED.some((each) => each === kind);
  const per = series.value?.per ?? 1;
  const what = text.landmarks.counts[kind](count);
  const where = text.timeline.tip(Math.max(0, step), isCounted ? step + per - 1 : Math.max(0, step));
  return (
    <div class="tip" style={placeOfTip(x)}>
      <b class="num">{what}</b> <span class="num">· {where}</span>
      {message !== null && message !== '' && (
        <>
          <br />
          {message}
        </>
      )}
      <br />
      <span class="dim">{text.landmarks.click}</span>
    </div>
  );
}

function placeOfTip(x: number): { left?: string; right?: string; top: string } {
  const { right } = layout.peek();
  return x > right - 220
    ? { right: `${right + 16 - x + 10}px`, top: '34px' }
    : { left: `${x + 10}px`, top: '34px' };
}

/** What a request does in the step under the pointer. */
function RowTip({ row, step, x }: { readonly row: LaneRow; readonly step: number; readonly x: number }) {
  const done = doneIn(row, step);
  return (
    <div class="tip" style={placeOfTip(x)}>
      <b class="num">r{row.request}</b> {row.name}
      <br />
      <span class="num">{text.timeline.tip(step, step)}</span>
      {done !== null && <span> · {text.timeline.does(done.state, done.tokens)}</span>}
      {row.end?.step === step && <span> · {text.timeline.ends[row.end.how]}</span>}
      <br />
      <span class="dim">{text.timeline.clickRow}</span>
    </div>
  );
}

export function Tip() {
  const at = hovered.value;
  const buckets = series.value;
  const mark = hoveredMark();
  if (at !== null && mark !== null) return <MarkTip mark={mark} x={at.x} />;
  const under = hoveredStep();
  const row = hoveredRow.value;
  if (at !== null && row !== null && under !== null) return <RowTip row={row} step={under} x={at.x} />;
  if (at === null || buckets === null || under === null) return null;
  const bucket = Math.floor((under - buckets.from) / buckets.per);
  const active = buckets.active[bucket];
  if (active === undefined || Number.isNaN(active)) return null;
  const whole = Math.max(1, usable.value);
  const first = Math.max(0, buckets.from + bucket * buckets.per);
  const last = Math.max(first, Math.min(first + buckets.per - 1, position.value.lastStep));
  const single = first === last;
  const known = buckets.known[bucket]!;
  const lines = [
    [buckets.evict[bucket]!, text.timeline.evicted],
    [buckets.copy[bucket]!, text.timeline.copied],
    [buckets.preempted[bucket]!, text.timeline.preempted],
  ] as const;
  return (
    <div class="tip" style={placeOfTip(at.x)}>
      <b class="num">{text.timeline.tip(first, last)}</b>
      <br />
      {text.timeline.used(buckets.most[bucket]! / whole, buckets.cached[bucket]! / whole, single)}
      <br />
      <span class="dim">
        {text.timeline.tokensTip(buckets.prefillSum[bucket]!, buckets.decodeSum[bucket]!, single)}
      </span>
      <br />
      <span class="dim">{text.timeline.hitsTip(buckets.hits[bucket]!, buckets.queries[bucket]!)}</span>
      {known < last - first + 1 && (
        <span class="dim">
          <br />
          {text.timeline.partly(known)}
        </span>
      )}
      {lines.map(([count, say]) =>
        count > 0 ? (
          <span key={say(2)} class="dim">
            <br />
            {say(count)}
          </span>
        ) : null,
      )}
    </div>
  );
}
