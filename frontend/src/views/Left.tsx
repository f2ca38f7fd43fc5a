/** The left column: block tables with whoever waits below, the scheduler, or the playground. */

import { isEmbedded } from '../store/embedded';
import { left, showPanel } from '../store/layout';
import { tables } from '../store/ledger';
import { text } from '../text';
import { Playground } from './playground/Playground';
import { Scheduler, WaitingStrip } from './Scheduler';
import { Segments } from './Segments';
import { Tables, tablesShown } from './Tables';

/** What is sent from the playground needs a server that takes it to an engine. */
const PANELS: readonly (typeof left.value)[] = isEmbedded
  ? ['tables', 'scheduler']
  : ['tables', 'scheduler', 'playground'];

export function Left() {
  const answer = tables.value;
  return (
    <section class="panel left" aria-label={text.panels.left}>
      <div class="head">
        <Segments
          label={text.panels.left}
          options={PANELS}
          names={text.panels}
          value={left.value}
          onChange={(value) => {
            if (value === 'playground') showPanel(value);
            else left.value = value;
          }}
        />
        <span class="note">
          {left.value === 'tables' &&
            answer !== null &&
            text.tables
              .count(tablesShown.value, answer.rows.length, answer.requests)
              .map((part, i) => <span key={i}>{part}</span>)}
        </span>
      </div>
      {left.value === 'tables' && (
        <>
          <Tables />
          <WaitingStrip />
        </>
      )}
      {left.value === 'scheduler' && <Scheduler />}
      {left.value === 'playground' && <Playground />}
    </section>
  );
}
