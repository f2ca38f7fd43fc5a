/** The memory map: every block of the pool, coloured by its state. */

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { lit } from '../../store/colouring';
import { addPainter, invalidate, setGate } from '../../store/frame';
import { hello, light, marked, position, queue, shading, tables } from '../../store/ledger';
import { picture } from '../../store/picture';
import { pixelRatio, pointIn } from '../../store/scale';
import { hover, hoverBlock, selectBlock, selection } from '../../store/selection';
import { addSurface } from '../../store/surfaces';
import { palette, theme } from '../../store/theme';
import { text } from '../../text';
import { classOf, countOf, filledOf, hasContent } from '../../worker/word';
import { Camera } from './camera';
import { CanvasRenderer } from './canvas';
import { type Colours, coloursOf } from './colours';
import { hasGpu } from './gpu';
import { drawOverlay } from './overlay';
import { Pace } from './pace';
import type { Pixels, Renderer, Scene } from './renderer';
import { WebGlRenderer } from './webgl';

const camera = new Camera();
let renderer: Renderer | null = null;
/** Draw even though nothing changed: what is on the canvas is something else. */
let stale = false;
const zoomed = signal(false);
/** Counts what the camera did: what is laid over the map follows. */
const moves = signal(0);
/** The pointer on the map, in device pixels. */
let pointer: { x: number; y: number } | null = null;
const GLOW = { dark: 0.55, light: 0.4 } as const;

function colours(): Colours {
  return coloursOf(picture.colouring, palette.peek(), lit.peek(), shading.peek()?.selected ?? null);
}

function scene(): Scene {
  // However much changes at once, the colour of a block's state shows through its glow.
  return { picture, camera, palette: palette.peek(), colours: colours(), glow: GLOW[theme.peek()] };
}

/** For tests: what the map shows at the centre of each block, and what it should. */
export function mapPixels(): Pixels {
  if (renderer === null) return { blocks: [], rgba: [], expected: [] };
  const pixels = renderer.pixels(scene());
  stale = true;
  invalidate();
  return pixels;
}

/** What the map that is on the canvas is of. */
export interface Shown {
  readonly record: number;
  readonly step: number;
  /** The block that is framed as the next to go. */
  readonly next: number | null;
  /** The view stood where it was asked to be, and was on its way nowhere. */
  readonly settled: boolean;
  /** The digest at its record was compared, and is the record's. */
  readonly verified: boolean;
  /** The time of the first animation frame that drew it so. */
  readonly frame: number;
}
let shown: Shown | null = null;
let shownOf = '';

/** For tests: of which step the map is that can be seen. */
export function mapShown(): Shown | null {
  return shown;
}

function create(canvas: HTMLCanvasElement): Renderer {
  if (!hasGpu()) return new CanvasRenderer(canvas);
  try {
    return new WebGlRenderer(canvas);
  } catch (error) {
    console.warn(`The map is drawn without WebGL2: ${(error as Error).message}`);
    // A canvas that was asked for one kind of context gives no other.
    const fresh = canvas.cloneNode() as HTMLCanvasElement;
    canvas.replaceWith(fresh);
    return new CanvasRenderer(fresh);
  }
}

/** The camera moved: another block is under the pointer. */
function moved(): void {
  zoomed.value = !camera.fitted;
  moves.value++;
  if (pointer !== null && pointerOnMap.peek()) hoverBlock(camera.pick(pointer.x, pointer.y));
  invalidate();
}

function zoomAt(factor: number, x: number, y: number): void {
  camera.zoom(factor, x, y);
  moved();
}

/** By key or button: towards the selected block where it is in sight, else towards the middle. */
function zoomBy(factor: number): void {
  const { block } = selection.peek();
  let [x, y] = [camera.width / 2, camera.height / 2];
  if (block !== null) {
    const at = camera.place(block);
    const [cx, cy] = [at.x + camera.scale / 2, at.y + camera.scale / 2];
    if (cx >= 0 && cy >= 0 && cx < camera.width && cy < camera.height) [x, y] = [cx, cy];
  }
  zoomAt(factor, x, y);
}

/** By a held key: around the pointer where it is on the map. */
function zoomOn(factor: number): void {
  if (pointer !== null && pointerOnMap.peek()) zoomAt(factor, pointer.x, pointer.y);
  else zoomBy(factor);
}

function panBy(part: number): void {
  camera.pan(-part * camera.width, 0);
  moved();
}

function reveal(): void {
  const { block } = selection.peek();
  if (block === null) return;
  camera.show(block);
  moved();
}

function fit(): void {
  camera.fit();
  moved();
}

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

function Tooltip() {
  const block = hover.value.block;
  // Follow what happens to the block while the pointer rests on it.
  void [position.value.record, moves.value];
  if (block === null || camera.scale === 0 || !pointerOnMap.value) return null;
  const word = picture.words[block] ?? 0;
  const size = hello.value?.block_size ?? 1;
  const ratio = pixelRatio();
  const { x, y } = camera.place(block);
  const right = x / ratio > camera.width / ratio - 190;
  const style = {
    left: right ? 'auto' : `${(x + camera.scale) / ratio + 8}px`,
    right: right ? `${(camera.width - x) / ratio + 8}px` : 'auto',
    top: `${Math.max(2, Math.min(camera.height / ratio - 60, y / ratio - 4))}px`,
  };
  const holders = (tables.value?.rows ?? [])
    .filter((row) => row.blocks?.includes(block))
    .map((row) => row.label);
  return (
    <div class="tip" style={style}>
      <b class="num">{block}</b> {text.map.tip(text.states.ofClass[classOf(word)]!, countOf(word))}
      <br />
      <span class="dim">
        {text.map.filled(Math.round(filledOf(word) * size), size)}
        {hasContent(word) && ` · ${text.map.content}`}
      </span>
      {holders.length > 0 && (
        <>
          <br />
          <span class="num">{holders.slice(0, 6).join(' · ')}</span>
        </>
      )}
    </div>
  );
}

const pointerOnMap = signal(false);

export function MemoryMap() {
  const frame = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);

  useEffect(() => {
    const holder = frame.current!;
    const overlay = over.current!;
    const context = overlay.getContext('2d')!;
    renderer = create(base.current!);
    let drawn = '';
    let drawnIn: Colours | null = null;
    const pace = new Pace();
    const resize = (): void => {
      const ratio = pixelRatio();
      const width = Math.max(1, Math.floor(holder.clientWidth * ratio));
      const height = Math.max(1, Math.floor(holder.clientHeight * ratio));
      for (const canvas of holder.querySelectorAll('canvas')) {
        if (canvas.width !== width || canvas.height !== height) {
          canvas.width = width;
          canvas.height = height;
        }
      }
      camera.resize(width, height, picture.size);
      drawn = '';
      invalidate();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(holder);
    setGate((now) => pace.frame(now));
    const stop = addPainter((now, open) => {
      if (renderer === null) return false;
      if (camera.count !== picture.size) camera.resize(camera.width, camera.height, picture.size);
      // While another picture is on its way, this one rests: to draw it takes a machine without a GPU from what is waited for.
      const glowing = picture.glowing && !position.peek().moving;
      if (glowing) picture.tick(performance.now());
      const { block } = selection.peek();
      const pointed = hover.peek();
      const row = tables.peek()?.rows.find((each) => each.sequence === pointed.sequence);
      const next = queue.peek()?.head[0] ?? null;
      const look = [
        picture.version,
        camera.scale,
        camera.left,
        camera.top,
        camera.width,
        camera.height,
        block,
        pointed.block,
        pointed.sequence,
        next,
        marked.peek()?.length ?? -1,
      ].join();
      const isSame = look === drawn && colours() === drawnIn;
      if (isSame && !glowing && !stale) return false;
      if (!open) return true;
      pace.drew(now);
      stale = false;
      const { record, step, target, moving } = position.peek();
      const { colour, record: lit } = light.peek();
      const settled = target === null && !moving;
      const verified = colour === 'green' && lit === record;
      const of = [record, step, next, settled, verified].join();
      if (shown === null || of !== shownOf) shown = { record, step, next, settled, verified, frame: now };
      shownOf = of;
      renderer.draw(scene());
      if (!isSame) {
        const marks = {
          selected: block,
          hovered: pointed.block,
          next,
          marked: marked.peek(),
          pointed: row?.blocks == null ? null : Array.from(row.blocks),
        };
        drawOverlay(context, picture, camera, colours(), marks, pixelRatio());
        drawn = look;
        drawnIn = colours();
      }
      return glowing;
    });
    resize();
    const leave = addSurface(holder, { zoom: zoomOn, pan: panBy, reveal });
    return () => {
      leave();
      stop();
      setGate(null);
      observer.disconnect();
      renderer?.dispose();
      renderer = null;
      pointer = null;
      pointerOnMap.value = false;
    };
  }, []);

  // Redraw when what is marked changes.
  useEffect(() => selection.subscribe(() => invalidate()), []);
  useEffect(() => hover.subscribe(() => invalidate()), []);
  useEffect(() => lit.subscribe(() => invalidate()), []);

  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const at = (event: MouseEvent): [number, number] => {
    const { x, y } = frame.current === null ? { x: -1, y: -1 } : pointIn(frame.current, event);
    return [x * pixelRatio(), y * pixelRatio()];
  };
  const count = hello.value?.num_blocks ?? 0;
  const moveBy = (by: number): void => {
    const from = selection.value.block ?? -1;
    const next = Math.max(0, Math.min(count - 1, from < 0 ? 0 : from + by));
    selectBlock(next);
    camera.reveal(next);
    moved();
  };
  const keys: Record<string, () => void> = {
    ArrowRight: () => moveBy(1),
    ArrowLeft: () => moveBy(-1),
    ArrowDown: () => moveBy(camera.grid.columns),
    ArrowUp: () => moveBy(-camera.grid.columns),
    Enter: () => selectBlock(hover.value.block ?? selection.value.block),
    '+': () => zoomBy(1.4),
    '=': () => zoomBy(1.4),
    '-': () => zoomBy(1 / 1.4),
    '0': fit,
  };
  return (
    <div
      class={`map${zoomed.value ? ' zoomed' : ''}`}
      ref={frame}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the map takes the focus, arrows move through it
      tabIndex={0}
      role="application"
      aria-label={text.map.label(count)}
      data-panel="map"
      onKeyDown={(event) => {
        const act = keys[event.key];
        if (act === undefined || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        act();
      }}
      onWheel={(event) => {
        event.preventDefault();
        const [x, y] = at(event);
        zoomAt(Math.exp(-event.deltaY * 0.0022), x, y);
      }}
      onPointerDown={(event) => {
        drag.current = { x: event.clientX, y: event.clientY, moved: false };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const held = drag.current;
        if (
          held !== null &&
          (held.moved || Math.abs(event.clientX - held.x) + Math.abs(event.clientY - held.y) > 4)
        ) {
          camera.pan(
            (event.clientX - held.x) * devicePixelRatio,
            (event.clientY - held.y) * devicePixelRatio,
          );
          drag.current = { x: event.clientX, y: event.clientY, moved: true };
          moved();
          return;
        }
        pointerOnMap.value = true;
        const [x, y] = at(event);
        pointer = { x, y };
        hoverBlock(camera.pick(x, y));
      }}
      onPointerUp={(event) => {
        if (drag.current !== null && !drag.current.moved) {
          const block = camera.pick(...at(event));
          selectBlock(block === selection.value.block ? null : block);
        }
        drag.current = null;
      }}
      onPointerCancel={() => {
        drag.current = null;
      }}
      onPointerLeave={() => {
        pointerOnMap.value = false;
        pointer = null;
        hoverBlock(null);
      }}
    >
      <canvas ref={base} />
      <canvas ref={over} class="over" />
      <Tooltip />
    </div>
  );
}
