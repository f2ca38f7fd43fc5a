/** The centre: one of its panels (the memory map, the list of events …) over the free queue. */

import type { ComponentType } from 'preact';
import { CENTRE_PANELS, type CentrePanel, centre } from '../store/layout';
import { hello, isContiguous } from '../store/ledger';
import { text } from '../text';
import { Events } from './Events';
import { FreeQueue } from './FreeQueue';
import { FreeRuns } from './FreeRuns';
import { Findings } from './findings/Findings';
import { ColouringField, Legend, MapKey, OrderField } from './Legend';
import { MapTools } from './map/MapTools';
import { MemoryMap } from './map/MemoryMap';
import { Segments } from './Segments';
import { Sql } from './sql/Sql';
import { Tree } from './Tree';
import { TreeSums } from './TreeRow';

interface Parts {
  readonly view: ComponentType;
  /** Beside the choice of the panel, and at the right end of that line. */
  readonly head?: ComponentType;
  readonly tools?: ComponentType;
}

const VIEWS: Readonly<Record<CentrePanel, Parts>> = {
  map: { view: MapPanel, head: MapHead, tools: MapTools },
  tree: { view: Tree, head: TreeSums },
  events: { view: Events },
  sql: { view: Sql },
  findings: { view: Findings },
};

function MapHead() {
  return (
    <>
      <ColouringField />
      <OrderField />
      <MapKey />
    </>
  );
}

function MapPanel() {
  return (
    <>
      <Legend />
      <MemoryMap />
    </>
  );
}

export function Centre() {
  const told = hello.value;
  const { view: View, head: Head, tools: Tools } = VIEWS[centre.value];
  return (
    <section class="panel centre" aria-label={text.panels[centre.value]}>
      <div class="head">
        <Segments
          label={text.panels.centre}
          options={CENTRE_PANELS}
          names={text.panels}
          value={centre.value}
          onChange={(value) => {
            centre.value = value;
          }}
        />
        {Head !== undefined && <Head />}
        <span class="space" />
        {Tools !== undefined && <Tools />}
        <span class="note num whole">
          {told === null ? '' : text.map.blocks(told.num_blocks, told.block_size)}
        </span>
      </div>
      <View />
      {isContiguous.value ? <FreeRuns /> : <FreeQueue />}
    </section>
  );
}
