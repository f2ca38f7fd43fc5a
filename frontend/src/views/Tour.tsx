/** The notes of a first visit: one at a time, beside what it is about, which is framed. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { zoom } from '../store/scale';
import { endTour, NOTES, type Note, note, turnNote } from '../store/tour';
import { text } from '../text';

const words = text.tour;
const ANCHORS: Readonly<Record<Note, string>> = {
  bar: '.bar',
  map: '.map',
  tables: '.panel.left',
  timeline: '.timeline',
  inspector: '.panel.inspector',
};
const GAP = 12;

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Where a note of a size stands: beside what it is about where there is room, else on it; and within the window. */
function placeOf(about: Box, own: Box, width: number, height: number): { left: number; top: number } {
  const within = (at: number, size: number, room: number): number =>
    Math.max(GAP, Math.min(room - size - GAP, at));
  const right = about.left + about.width;
  const bottom = about.top + about.height;
  const middle = {
    left: about.left + (about.width - own.width) / 2,
    top: about.top + (about.height - own.height) / 2,
  };
  let place = middle;
  if (about.width > width * 0.7) {
    // Across the page: below it, or above.
    place = {
      ...middle,
      top: bottom + own.height + GAP < height ? bottom + GAP : about.top - own.height - GAP,
    };
  } else if (right + own.width + GAP < width && about.left < width / 4)
    place = { left: right + GAP, top: about.top + 40 };
  else if (about.left > width / 2) place = { left: about.left - own.width - GAP, top: about.top + 40 };
  return { left: within(place.left, own.width, width), top: within(place.top, own.height, height) };
}

function boxOf(element: Element): Box {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { left: left / zoom, top: top / zoom, width: width / zoom, height: height / zoom };
}

function NoteCard({ shown }: { readonly shown: Note }) {
  const card = useRef<HTMLDivElement>(null);
  const next = useRef<HTMLButtonElement>(null);
  const [places, setPlaces] = useState<{ frame: Box; left: number; top: number } | null>(null);
  useLayoutEffect(() => {
    const place = (): void => {
      const about = document.querySelector(ANCHORS[shown]);
      if (about === null || card.current === null) return;
      const frame = boxOf(about);
      setPlaces({ frame, ...placeOf(frame, boxOf(card.current), innerWidth / zoom, innerHeight / zoom) });
    };
    place();
    next.current?.focus({ preventScroll: true });
    addEventListener('resize', place);
    return () => removeEventListener('resize', place);
  }, [shown]);
  const [title, told] = words.notes[shown];
  const at = NOTES.indexOf(shown) + 1;
  const isLast = at === NOTES.length;
  const { frame, left, top } = places ?? { frame: null, left: 0, top: 0 };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowRight: () => turnNote(1),
    ArrowLeft: () => turnNote(-1),
    Escape: endTour,
  };
  return (
    <>
      {frame !== null && (
        <div
          class="tourframe"
          style={{
            left: `${frame.left}px`,
            top: `${frame.top}px`,
            width: `${frame.width}px`,
            height: `${frame.height}px`,
          }}
        />
      )}
      <div
        ref={card}
        class="tour"
        role="dialog"
        aria-label={words.label}
        aria-describedby="tour-told"
        style={{ left: `${left}px`, top: `${top}px` }}
        onKeyDown={(event) => {
          const act = keys[event.key];
          if (act === undefined) return;
          event.preventDefault();
          event.stopPropagation();
          act();
        }}
      >
        <h2>{title}</h2>
        <p id="tour-told">{told}</p>
        <div class="turns">
          <span class="faint num">{words.of(at, NOTES.length)}</span>
          <span class="space" />
          {!isLast && (
            <button type="button" class="plain" onClick={endTour}>
              {words.skip}
            </button>
          )}
          {at > 1 && (
            <button type="button" class="btn" onClick={() => turnNote(-1)}>
              {words.back}
            </button>
          )}
          <button ref={next} type="button" class="btn next" onClick={() => turnNote(1)}>
            {isLast ? words.done : words.next}
          </button>
        </div>
      </div>
    </>
  );
}

export function Tour() {
  return note.value === null ? null : <NoteCard shown={note.value} />;
}
