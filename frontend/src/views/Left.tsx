/** The left column: block tables with whoever waits below, or the scheduler. */

import { left } from '../store/layout';
import { tables } from '../store/ledger';
import { text } from '../text';
import { Scheduler, WaitingStrip } from './Scheduler';
import { Segments } from './Segments';
import { Tables, tablesShown } from './Tables';

export function Left() {
  const answer = tables.value;
  return (
    <section class="panel left" aria-label={text.panels.left}>
      <div class="head">
        <Segments
          label={`${text.panels.tables}, ${text.panels.scheduler}`}
          options={['tables', 'scheduler'] as const}
          names={text.panels}
          value={left.value}
          onChange={(value) => {
            left.value = value;
          }}
        />
        <span class="note">
          {left.value === 'tables' && answer !== null
            ? text.tables.count(tablesShown.value, answer.rows.length, answer.requests)
            : ''}
        </span>
      </div>
      {left.value === 'tables' ? (
        <>
          <Tables />
          <WaitingStrip />
        </>
      ) : (
        <Scheduler />
      )}
    </section>
  );
}
