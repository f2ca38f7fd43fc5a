/** The timeline: the whole session or the last steps of it, to be dragged through. */

import { computed, signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { clock, moment } from '../../format';
import { jump, jumpToFirst, point, seek, stepBy } from '../../store/clock';
import { addPainter, invalidate } from '../../store/frame';
import { hello, landmarks, position, series, usable, wantSeries } from '../../store/ledger';
import { pixelRatio, pointIn } from '../../store/scale';
import { addSurface } from '../../store/surfaces';
import { palette } from '../../store/theme';
import { text } from '../../text';
import { COUNTED } from '../../worker/landmarks';
import { Segments } from '../Segments';
import { Splitter } from '../Splitter';
import { drawTimeline, type Layout, layoutFor, stepAt, type Window, xOf } from './draw';
import { Landmarks, ListedLegend } from './Landmarks';
import { type Mark, markAt } from './marks';
import { Playhead } from './playhead';

/** All of the session, the last steps, or a part that was chosen by zooming. */
type Range = 'all' | 'recent' | Window;
const range = signal<Range>('recent');
/** CSS pixels a step in `recent`. */
const RECENT_STEP = 3;

let layout: Layout = layoutFor(1600, 180);

/** What is shown: the window of the buckets that came last. */
function windowNow(): Window {
  return series.peek()?.window ?? { from: 0, to: 1 };
}

/** What is on its way to be shown, exactly: a held key moves it by less than a step at a time. */
let wanted: { readonly exact: Window; readonly range: Window } | null = null;

function windowWanted(): Window {
  const at = range.peek();
  return typeof at === 'string' ? windowNow() : wanted?.range === at ? wanted.exact : at;
}

function want(exact: Window): void {
  const asked = { from: Math.floor(exact.from), to: Math.ceil(exact.to) };
  wanted = { exact, range: asked };
  range.value = asked;
}

/** Move along by a part of what is shown. */
function pan(part: number): void {
  const end = Math.max(1, position.peek().lastStep + 1);
  const { from, to } = windowWanted();
  const start = Math.max(0, Math.min(end - (to - from), from + part * (to - from)));
  if (to - from < end) want({ from: start, to: start + to - from });
}

function zoom(factor: number, x: number): void {
  const { lastStep } = position.peek();
  const from = windowWanted();
  const end = Math.max(1, lastStep + 1);
  const steps = Math.max(20, Math.min(end, (from.to - from.from) * factor));
  const centre =
    from.from + ((x - layout.left) / Math.max(1, layout.right - layout.left)) * (from.to - from.from);
  const part = (centre - from.from) / Math.max(1, from.to - from.from);
  const start = Math.max(0, Math.min(end - steps, centre - steps * part));
  if (steps >= end) range.value = 'all';
  else want({ from: start, to: start + steps });
}

/** By a held key: around the pointer where it is on the timeline, else around the present. */
function zoomOn(factor: number): void {
  const { step, target } = position.peek();
  zoom(1 / factor, hovered.peek()?.x ?? xOf(Math.max(0, target ?? step), windowWanted(), layout));
}

/** Move so that the present step lies in the middle, where it is out of sight. */
function reveal(): void {
  const { step, target } = position.peek();
  const { from, to } = windowWanted();
  const at = target ?? step;
  if (range.peek() !== 'recent' && (at < from || at >= to)) pan((at - (from + to) / 2) / (to - from));
}

/** Where the pointer is, in CSS pixels; the steps slide along under it. */
const hovered = signal<{ x: number; y: number } | null>(null);

/** The landmark under the pointer. */
function hoveredMark(): Mark | null {
  const at = hovered.value;
  return at === null ? null : markAt(at.x, at.y, series.value, landmarks.value ?? [], layout);
}

const isOnMark = computed(() => hoveredMark() !== null);

/** Go to a landmark: of those that are counted, to the first one of the steps that share its place. */
function goToMark({ kind, step }: Mark): void {
  const counted = COUNTED.find((each) => each === kind);
  if (counted !== undefined) jumpToFirst(counted, step);
  else jump(step);
}

function hoveredStep(): number | null {
  const at = hovered.peek();
  if (at === null) return null;
  return Math.max(0, Math.min(position.peek().lastStep, stepAt(at.x, windowNow(), layout)));
}

function MarkTip({ mark, x }: { readonly mark: Mark; readonly x: number }) {
  const { kind, count, step, message } = mark;
  const isCounted = COUNTED.some((each) => each === kind);
  const per = series.value?.per ?? 1;
  const what = text.landmarks.counts[kind](count);
  const where = text.timeline.tip(Math.max(0, step), isCounted ? step + per - 1 : Math.max(0, step));
  return (
    <div class="tip" style={placeOfTip(x)}>
      <b class="num">{what}</b> <span class="num">· {where}</span>
      {message !== null && message !== '' && (
        <>
          <br />
          {message}
        </>
      )}
      <br />
      <span class="dim">{text.landmarks.click}</span>
    </div>
  );
}

function placeOfTip(x: number): { left?: string; right?: string; top: string } {
  return x > layout.right - 220
    ? { right: `${layout.right + 16 - x + 10}px`, top: '34px' }
    : { left: `${x + 10}px`, top: '34px' };
}

function Tip() {
  const at = hovered.value;
  const buckets = series.value;
  const mark = hoveredMark();
  if (at !== null && mark !== null) return <MarkTip mark={mark} x={at.x} />;
  const under = hoveredStep();
  if (at === null || buckets === null || under === null) return null;
  const bucket = Math.floor((under - buckets.from) / buckets.per);
  const active = buckets.active[bucket];
  if (active === undefined || Number.isNaN(active)) return null;
  const whole = Math.max(1, usable.value);
  const first = Math.max(0, buckets.from + bucket * buckets.per);
  const last = Math.max(first, Math.min(first + buckets.per - 1, position.value.lastStep));
  const single = first === last;
  const known = buckets.known[bucket]!;
  const lines = [
    [buckets.evict[bucket]!, text.timeline.evicted],
    [buckets.copy[bucket]!, text.timeline.copied],
    [buckets.preempted[bucket]!, text.timeline.preempted],
  ] as const;
  return (
    <div class="tip" style={placeOfTip(at.x)}>
      <b class="num">{text.timeline.tip(first, last)}</b>
      <br />
      {text.timeline.used(buckets.most[bucket]! / whole, buckets.cached[bucket]! / whole, single)}
      <br />
      <span class="dim">
        {text.timeline.tokensTip(buckets.prefillSum[bucket]!, buckets.decodeSum[bucket]!, single)}
      </span>
      {known < last - first + 1 && (
        <span class="dim">
          <br />
          {text.timeline.partly(known)}
        </span>
      )}
      {lines.map(([count, say]) =>
        count > 0 ? (
          <span key={say(2)} class="dim">
            <br />
            {say(count)}
          </span>
        ) : null,
      )}
    </div>
  );
}

/** Where the view is in time, and within its step. */
function Clock() {
  const { step, within, operation, time } = position.value;
  return (
    <span class="note num">
      {within !== null && (
        <span class="accent" title={text.transport.withinTitle(within.done, within.of, operation ?? 0)}>
          {text.transport.within(within.done, within.of)} ·{' '}
        </span>
      )}
      <span title={text.timeline.sessionTime}>{clock(time)}</span>
      {hello.value !== null && step >= 0 && (
        <span class="faint" title={text.timeline.wallClock}>
          {' '}
          · {moment(hello.value.utc_us + time / 1000).slice(11)}
        </span>
      )}
    </span>
  );
}

function Head() {
  const chosen = typeof range.value === 'string' ? range.value : 'zoomed';
  const option = chosen === 'zoomed' ? ('' as 'all') : chosen;
  return (
    <div class="head">
      <h2>{text.panels.timeline}</h2>
      <Segments
        label={text.panels.timeline}
        options={['recent', 'all'] as const}
        names={text.timeline}
        value={option}
        onChange={(value) => {
          range.value = value;
        }}
      />
      <div class="legend">
        <span>
          <i class="swatch evict" />
          {text.timeline.legend.evict}
        </span>
        <span>
          <i class="swatch shared tick" />
          {text.timeline.legend.copy}
        </span>
        <span>
          <i class="swatch preempt" />
          {text.timeline.legend.preempt}
        </span>
        <span>
          <i class="swatch prefill" />
          {text.timeline.legend.prefill}
        </span>
        <span>
          <i class="swatch decode" />
          {text.timeline.legend.decode}
        </span>
        <ListedLegend />
      </div>
      <Landmarks />
      <Clock />
    </div>
  );
}

export function Timeline() {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const heads = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1600);
  const dragging = useRef(false);

  useEffect(() => {
    const holder = frame.current!;
    const surface = canvas.current!;
    const context = surface.getContext('2d')!;
    const playhead = new Playhead(heads.current!);
    let drawn = '';
    let headDrawn = '';
    let seriesDrawn = series.peek();
    let listedDrawn = landmarks.peek() ?? [];
    const resize = (): void => {
      const ratio = pixelRatio();
      const [w, h] = [holder.clientWidth, holder.clientHeight];
      surface.width = Math.round(w * ratio);
      surface.height = Math.round(h * ratio);
      layout = layoutFor(w, h);
      setWidth(w);
      drawn = '';
      invalidate();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(holder);
    const drawLanes = (): void => {
      const ratio = pixelRatio();
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, surface.width, surface.height);
      if (seriesDrawn === null) return;
      drawTimeline(context, {
        buckets: seriesDrawn,
        window: windowNow(),
        layout,
        palette: palette.peek(),
        usable: usable.peek(),
        listed: listedDrawn,
        lastStep: position.peek().lastStep,
      });
    };
    const stop = addPainter(() => {
      const { step, target, lastStep, mode, within } = position.peek();
      const buckets = series.peek();
      const listed = landmarks.peek() ?? [];
      const look = [buckets?.filling ? lastStep : '', palette.peek().bg, usable.peek()].join();
      const isNew = look !== drawn || seriesDrawn !== buckets || listedDrawn !== listed;
      if (isNew) {
        drawn = look;
        seriesDrawn = buckets;
        listedDrawn = listed;
        drawLanes();
      }
      const shown = mode === 'follow' ? step : (target ?? step);
      const part = within === null || target !== null ? 1 : within.done / Math.max(1, within.of);
      const headLook = [shown, part, lastStep, hoveredStep()].join();
      if (!isNew && headLook === headDrawn) return false;
      headDrawn = headLook;
      const hovered = buckets === null ? null : hoveredStep();
      const at = { window: windowNow(), layout, part, lastStep, hovered };
      playhead.place({ ...at, step: buckets === null ? -1 : shown });
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

  const { lastStep, step, target, mode } = position.value;
  const shown = mode === 'follow' ? step : (target ?? step);
  const chosenRange = range.value;
  useEffect(() => {
    const pixels = layout.right - layout.left;
    wantSeries.value = {
      range: chosenRange,
      steps: Math.max(60, Math.floor(pixels / RECENT_STEP)),
      width: Math.max(60, Math.floor(pixels / 2)),
    };
  }, [chosenRange, width]);
  useEffect(() => hovered.subscribe(() => invalidate()), []);

  const stepUnder = (event: MouseEvent): number => {
    if (frame.current === null) return shown;
    const { x } = pointIn(frame.current, event);
    return Math.max(0, Math.min(lastStep, stepAt(x, windowNow(), layout)));
  };
  return (
    <section class="timeline" aria-label={text.panels.timeline}>
      <Head />
      <div
        class={`lane${isOnMark.value ? ' onmark' : ''}`}
        ref={frame}
        tabIndex={0}
        role="slider"
        aria-label={text.timeline.label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, lastStep)}
        aria-valuenow={Math.max(0, shown)}
        data-panel="timeline"
        onKeyDown={(event) => {
          const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
          if (by !== 0) {
            event.preventDefault();
            stepBy(by * (event.shiftKey ? 10 : 1));
          } else if (event.key === '+' || event.key === '=') zoom(0.6, xOf(shown, windowNow(), layout));
          else if (event.key === '-') zoom(1.7, xOf(shown, windowNow(), layout));
        }}
        onPointerDown={(event) => {
          const { x, y } = pointIn(event.currentTarget, event);
          const mark = markAt(x, y, series.peek(), landmarks.peek() ?? [], layout);
          if (mark !== null) {
            goToMark(mark);
            return;
          }
          dragging.current = true;
          event.currentTarget.setPointerCapture(event.pointerId);
          // The window must not slide away under the pointer that drags in it.
          if (range.value === 'recent') range.value = windowNow();
          jump(stepUnder(event));
        }}
        onPointerMove={(event) => {
          const at = stepUnder(event);
          const { x, y } = pointIn(event.currentTarget, event);
          hovered.value = { x, y };
          // Whoever drags asks for each place, and does not wait on any.
          point(dragging.current || isOnMark.peek() ? null : at);
          if (dragging.current && at !== (position.peek().target ?? position.peek().step)) seek(at);
        }}
        onPointerUp={() => {
          dragging.current = false;
        }}
        onPointerCancel={() => {
          dragging.current = false;
        }}
        onPointerLeave={() => {
          hovered.value = null;
          point(null);
        }}
        onWheel={(event) => {
          event.preventDefault();
          zoom(Math.exp(event.deltaY * 0.002), pointIn(event.currentTarget, event).x);
        }}
        onDblClick={() => {
          range.value = 'all';
        }}
      >
        <canvas ref={canvas} />
        <div class="heads" ref={heads} />
        {lastStep < 0 && <p class="empty dim">{text.timeline.empty}</p>}
        <Tip />
      </div>
      <Splitter panel="timeline" side="top" />
    </section>
  );
}
