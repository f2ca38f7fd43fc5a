/** The timeline: the whole session or a part of it, to be dragged through; a row a request, and all of it in small. */

import { computed } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { stepBy } from '../../store/clock';
import { marks } from '../../store/compared';
import { addPainter, invalidate } from '../../store/frame';
import {
  landmarks,
  lanes,
  lastStep,
  overview,
  position,
  request,
  series,
  stepShown,
  usable,
  wantSeries,
} from '../../store/ledger';
import { pixelRatio, zoom as zoomOfPage } from '../../store/scale';
import { selection } from '../../store/selection';
import { addSurface } from '../../store/surfaces';
import { palette } from '../../store/theme';
import { text } from '../../text';
import type { LanesAnswer } from '../../worker/lanes';
import { Splitter } from '../Splitter';
import { Compare } from './Compare';
import { Curves } from './curves';
import { drawTimeline, layoutFor, ROW, rowsTop } from './draw';
import { Head } from './Head';
import { Minimap } from './Minimap';
import { drawMarked } from './marks';
import { drawMinimap } from './overview';
import { Playhead } from './playhead';
import {
  brushed,
  hovered,
  hoveredStep,
  isOnMark,
  pointedRow,
  pointerHandlers,
  rowsFrom,
  scrollRows,
} from './pointer';
import { RowCount } from './RowCount';
import { layout, pan, range, reveal, showAll, windowNow, xOfPresent, zoom } from './range';
import { drawRows } from './rows';
import { Tip } from './Tip';

/** CSS pixels a step in `recent`. */
const RECENT_STEP = 3;
/** CSS pixels a bucket of the minimap. */
const OVERVIEW_STEP = 2;

// As signals they change in the document without anything else of the timeline being looked at.
const valueMax = computed(() => Math.max(0, lastStep.value));
const valueNow = computed(() => Math.max(0, stepShown.value));
const isEmpty = computed(() => lastStep.value < 0);

/** By a held key: around the pointer where it is on the timeline, else around the present. */
function zoomOn(factor: number): void {
  zoom(1 / factor, hovered.peek()?.x ?? xOfPresent());
}

/** The request that is selected, or that the selected sequence is of. */
function selectedRequest(): number | null {
  const { request: own, sequence } = selection.peek();
  return sequence === null ? own : (request.peek()?.request ?? null);
}

/** For tests: where in the window the name of each row stands. */
export function placesOfRows({ rows }: LanesAnswer): { x: number; y: number }[] {
  const box = document.querySelector('.timeline .lane')!.getBoundingClientRect();
  const top = rowsTop(layout.peek());
  return rows.map((_, at) => ({
    x: box.left + 24 * zoomOfPage,
    y: box.top + (top + (at + 0.5) * ROW) * zoomOfPage,
  }));
}

export function Timeline() {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const heads = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1600);

  useEffect(() => {
    const holder = frame.current!;
    const surface = canvas.current!;
    const context = surface.getContext('2d')!;
    const playhead = new Playhead(heads.current!);
    const curves = new Curves();
    let drawn = '';
    let headDrawn = '';
    const dataNow = () => ({
      series: series.peek(),
      landmarks: landmarks.peek(),
      lanes: lanes.peek(),
      overview: overview.peek(),
    });
    let drawnOf = dataNow();
    const resize = (): void => {
      const ratio = pixelRatio();
      const [w, h] = [holder.clientWidth, holder.clientHeight];
      surface.width = Math.round(w * ratio);
      surface.height = Math.round(h * ratio);
      layout.value = layoutFor(w, h);
      setWidth(w);
      drawn = '';
      invalidate();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(holder);
    const drawAll = (): void => {
      const ratio = pixelRatio();
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, surface.width, surface.height);
      const { series: buckets, landmarks: listed, lanes: requests, overview: whole } = drawnOf;
      if (buckets === null) return;
      const colours = palette.peek();
      const place = { window: windowNow(), layout: layout.peek(), palette: colours };
      const scene = {
        ...place,
        buckets,
        usable: usable.peek(),
        listed: listed ?? [],
        lastStep: lastStep.peek(),
      };
      curves.draw(context, scene, ratio);
      drawTimeline(context, scene);
      drawMarked(context, marks.peek(), place);
      if (requests !== null) drawRows(context, { ...place, lanes: requests, selected: selectedRequest() });
      if (whole !== null) drawMinimap(context, whole, place.layout, colours, usable.peek());
    };
    const stop = addPainter(() => {
      const { target, within } = position.peek();
      const now = dataNow();
      const buckets = now.series;
      const { bg } = palette.peek();
      const look = [
        buckets?.filling ? lastStep.peek() : '',
        bg,
        usable.peek(),
        selectedRequest(),
        ...Object.values(marks.peek()),
      ].join();
      const isNew =
        look !== drawn ||
        (Object.keys(now) as (keyof typeof now)[]).some((each) => now[each] !== drawnOf[each]);
      if (isNew) {
        drawn = look;
        drawnOf = now;
        drawAll();
      }
      const shown = stepShown.peek();
      const part = within === null || target !== null ? 1 : within.done / Math.max(1, within.of);
      const at = pointedRow.peek();
      const row = at < 0 ? null : rowsTop(layout.peek()) + at * ROW;
      const headLook = [shown, part, lastStep.peek(), hoveredStep(), row, brushed.peek()].join();
      if (!isNew && headLook === headDrawn) return false;
      headDrawn = headLook;
      playhead.place({
        window: windowNow(),
        layout: layout.peek(),
        part,
        lastStep: lastStep.peek(),
        hovered: buckets === null ? null : hoveredStep(),
        step: buckets === null ? -1 : shown,
        row,
        brushed: brushed.peek(),
      });
      return false;
    });
    resize();
    const leave = addSurface(holder, { zoom: zoomOn, pan, reveal });
    return () => {
      leave();
      stop();
      observer.disconnect();
    };
  }, []);

  const chosenRange = range.value;
  const offset = rowsFrom.value;
  const { rows } = layout.value;
  useEffect(() => {
    const { left, right } = layout.peek();
    const pixels = right - left;
    wantSeries.value = {
      range: chosenRange,
      steps: Math.max(60, Math.floor(pixels / RECENT_STEP)),
      width: Math.max(60, Math.floor(pixels / 2)),
      overview: Math.max(60, Math.floor(pixels / OVERVIEW_STEP)),
      lanes: { rows, offset },
    };
  }, [chosenRange, width, rows, offset]);
  useEffect(() => {
    const stops = [hovered, pointedRow, brushed, marks].map((each) => each.subscribe(() => invalidate()));
    return () => {
      for (const stop of stops) stop();
    };
  }, []);

  return (
    <section class="timeline" aria-label={text.panels.timeline}>
      <Head />
      {/* A slider holds nothing that has the focus itself, as the minimap does. */}
      <div class={`lane${isOnMark.value ? ' onmark' : ''}`} ref={frame} {...pointerHandlers}>
        <div
          class="slider"
          tabIndex={0}
          role="slider"
          aria-label={text.timeline.label}
          aria-valuemin={0}
          aria-valuemax={valueMax}
          aria-valuenow={valueNow}
          data-panel="timeline"
          onKeyDown={(event) => {
            const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
            if (by !== 0) {
              event.preventDefault();
              stepBy(by * (event.shiftKey ? 10 : 1));
            } else if (event.key === '+' || event.key === '=') zoom(0.6, xOfPresent());
            else if (event.key === '-') zoom(1.7, xOfPresent());
            else if (event.key === '0') showAll();
            else if (event.key === 'PageDown') scrollRows(rows);
            else if (event.key === 'PageUp') scrollRows(-rows);
          }}
        >
          <canvas ref={canvas} />
          <div class="heads" ref={heads} />
          {isEmpty.value && <p class="empty dim">{text.timeline.empty}</p>}
          <Tip />
        </div>
        <Minimap />
        <RowCount />
      </div>
      <Compare />
      <Splitter panel="timeline" side="top" />
    </section>
  );
}
