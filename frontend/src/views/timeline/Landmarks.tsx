/** Which landmarks are gone to, and the way to the next one and back. */

import { jumpToLandmark, landmarkKind } from '../../store/clock';
import { landmarks } from '../../store/ledger';
import { text } from '../../text';
import { LANDMARK_KINDS, LISTED, type ListedKind } from '../../worker/landmarks';

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

/** As they are drawn (`marks.ts`), in a square of 12. */
const SHAPES: Readonly<Record<ListedKind, string>> = {
  refused: 'M2.5 2.5l7 7M9.5 2.5l-7 7',
  violation: 'M6 1l4.5 5L6 11 1.5 6z',
  gap: 'M4 1v10M8 1v10',
  note: 'M3 11V1l7 2.5L3 6',
};

/** The shapes of the rare ones, as far as there are any. */
export function ListedLegend() {
  const kinds = new Set(landmarks.value?.map(({ kind }) => kind));
  return (
    <>
      {LISTED.filter((kind) => kinds.has(kind)).map((kind) => (
        <span key={kind}>
          <svg class={`shape ${kind}`} viewBox="0 0 12 12" aria-hidden="true">
            <path d={SHAPES[kind]} />
          </svg>
          {words.kinds[kind]}
        </span>
      ))}
    </>
  );
}
