/** Above the timeline: which steps it shows, what its colours and shapes mean, and where the view is in time. */

import { position } from '../../store/ledger';
import { text } from '../../text';
import { Segments } from '../Segments';
import { hasWallClock, sessionTime, wallClock } from '../timeText';
import { Landmarks, ListedLegend } from './Landmarks';
import { Marks } from './Marks';
import { range } from './range';

/** Where the view is in time, and within its step. */
function Clock() {
  const { within, operation } = position.value;
  return (
    <span class="note num">
      {within !== null && (
        <span class="accent" title={text.transport.withinTitle(within.done, within.of, operation ?? 0)}>
          {text.transport.within(within.done, within.of)} ·{' '}
        </span>
      )}
      <span title={text.timeline.sessionTime}>{sessionTime}</span>
      {hasWallClock.value && (
        <span class="faint" title={text.timeline.wallClock}>
          {' '}
          · {wallClock}
        </span>
      )}
    </span>
  );
}

export function Head() {
  const chosen = typeof range.value === 'string' ? range.value : 'zoomed';
  const option = chosen === 'zoomed' ? ('' as 'all') : chosen;
  return (
    <div class="head">
      <h2>{text.panels.timeline}</h2>
      <Segments
        label={text.panels.timeline}
        options={['recent', 'all'] as const}
        names={text.timeline}
        value={option}
        onChange={(value) => {
          range.value = value;
        }}
      />
      <div class="legend">
        <span>
          <i class="swatch evict" />
          {text.timeline.legend.evict}
        </span>
        <span>
          <i class="swatch shared tick" />
          {text.timeline.legend.copy}
        </span>
        <span>
          <i class="swatch preempt" />
          {text.timeline.legend.preempt}
        </span>
        <span>
          <i class="swatch prefill" />
          {text.timeline.legend.prefill}
        </span>
        <span>
          <i class="swatch decode" />
          {text.timeline.legend.decode}
        </span>
        <span title={text.timeline.hitRateTitle}>
          <i class="swatch hitrate" />
          {text.timeline.hitRate}
        </span>
        <span>
          <i class="swatch queued" />
          {text.timeline.legend.waits}
        </span>
        <ListedLegend />
      </div>
      <Landmarks />
      <Marks />
      <Clock />
    </div>
  );
}
