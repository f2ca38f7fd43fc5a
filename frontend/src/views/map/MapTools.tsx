/** What stands at the right end of the map's head: zoom out, in, show all. */

import { text } from '../../text';
import { fit, zoomBy, zoomed } from './movement';

export function MapTools() {
  return (
    <span class="tools">
      <button
        type="button"
        class="plain"
        aria-label={text.map.zoomOut}
        title={`${text.map.zoomOut} (−)`}
        disabled={!zoomed.value}
        onClick={() => zoomBy(1 / 1.4)}
      >
        −
      </button>
      <button
        type="button"
        class="plain"
        aria-label={text.map.zoomIn}
        title={`${text.map.zoomIn} (+)`}
        onClick={() => zoomBy(1.4)}
      >
        +
      </button>
      <button
        type="button"
        class="plain"
        aria-label={text.map.fit}
        title={`${text.map.fit} (0)`}
        disabled={!zoomed.value}
        onClick={fit}
      >
        ⤢
      </button>
    </span>
  );
}
