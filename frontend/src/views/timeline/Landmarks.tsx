/** Which landmarks are gone to, and the way to the next one and back. */

import { jumpToLandmark, landmarkKind } from '../../store/clock';
import { text } from '../../text';
import { LANDMARK_KINDS } from '../../worker/landmarks';

const words = text.landmarks;
const KINDS = ['any', ...LANDMARK_KINDS] as const;

export function Landmarks() {
  return (
    <span class="landmarks" role="toolbar" aria-label={words.label}>
      <button
        type="button"
        class="plain"
        title={`${words.previous} (⇧N)`}
        aria-label={words.previous}
        onClick={() => jumpToLandmark(-1)}
      >
        ‹
      </button>
      <select
        aria-label={words.choose}
        title={words.choose}
        value={landmarkKind.value}
        onChange={(event) => {
          landmarkKind.value = event.currentTarget.value as (typeof KINDS)[number];
        }}
      >
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {words.kinds[kind]}
          </option>
        ))}
      </select>
      <button
        type="button"
        class="plain"
        title={`${words.next} (n)`}
        aria-label={words.next}
        onClick={() => jumpToLandmark(1)}
      >
        ›
      </button>
    </span>
  );
}
