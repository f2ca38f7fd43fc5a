/** The centre: the memory map over the free queue, or the list of events. */

import { centre } from '../store/layout';
import { hello, isContiguous } from '../store/ledger';
import { text } from '../text';
import { EventFilterBar, Events } from './Events';
import { FreeQueue } from './FreeQueue';
import { FreeRuns } from './FreeRuns';
import { Legend, MapKey } from './Legend';
import { MapTools, MemoryMap } from './map/MemoryMap';
import { Segments } from './Segments';

export function Centre() {
  const told = hello.value;
  const isMap = centre.value === 'map';
  return (
    <section class="panel centre" aria-label={text.panels[centre.value]}>
      <div class="head">
        <Segments
          label={`${text.panels.map}, ${text.panels.events}`}
          options={['map', 'events'] as const}
          names={text.panels}
          value={centre.value}
          onChange={(value) => {
            centre.value = value;
          }}
        />
        {isMap && <Legend />}
        {isMap && <MapKey />}
        <span class="space" />
        {isMap && <MapTools />}
        <span class="note num whole">
          {told === null ? '' : text.map.blocks(told.num_blocks, told.block_size)}
        </span>
      </div>
      {isMap ? (
        <MemoryMap />
      ) : (
        <>
          <EventFilterBar />
          <Events />
        </>
      )}
      {isContiguous.value ? <FreeRuns /> : <FreeQueue />}
    </section>
  );
}
