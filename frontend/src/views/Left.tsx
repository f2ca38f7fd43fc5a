/** The left column: block tables with whoever waits below, the scheduler, or the playground. */

import type { ComponentType } from 'preact';
import { LEFT_PANELS, type LeftPanel, left, showPanel } from '../store/layout';
import { tables } from '../store/ledger';
import { leftSized } from '../store/sizes';
import { text } from '../text';
import { Playground } from './playground/Playground';
import { RowTools } from './RowTools';
import { Scheduler, WaitingStrip } from './Scheduler';
import { Segments } from './Segments';
import { Splitter } from './Splitter';
import { Tables, tablesShown } from './Tables';

function TablesAndWaiting() {
  return (
    <>
      <RowTools />
      <Tables />
      <WaitingStrip />
    </>
  );
}

const VIEWS: Readonly<Record<LeftPanel, ComponentType>> = {
  tables: TablesAndWaiting,
  scheduler: Scheduler,
  playground: Playground,
};

/** Which rows are in sight, and how many there are. */
function Count() {
  const answer = tables.value;
  if (answer === null) return null;
  const parts = text.tables.count(tablesShown.value, answer.sequences.length, answer.requests);
  return (
    <>
      {parts.map((part, i) => (
        <span key={i}>{part}</span>
      ))}
    </>
  );
}

export function Left() {
  const View = VIEWS[left.value];
  return (
    <section class="panel left" aria-label={text.panels.left}>
      <div class="head">
        <Segments
          label={text.panels.left}
          options={LEFT_PANELS}
          names={text.panels}
          value={left.value}
          onChange={(value) => {
            if (value === 'playground') showPanel(value);
            else left.value = value;
          }}
        />
        <span class="note">{left.value === 'tables' && <Count />}</span>
      </div>
      <View />
      <Splitter panel={leftSized.value} side="right" />
    </section>
  );
}
