/** The memory map: every block of the pool, coloured by its state. */

import { useEffect, useRef } from 'preact/hooks';
import { lit } from '../../store/colouring';
import { addPainter, invalidate, setGate } from '../../store/frame';
import { hello, light, marked, nextToGo, position, shading, tables } from '../../store/ledger';
import { picture } from '../../store/picture';
import { markRectangle, rectangle } from '../../store/rectangle';
import { pixelRatio, pointIn } from '../../store/scale';
import { hover, hoverBlock, selectBlock, selection } from '../../store/selection';
import { addSurface } from '../../store/surfaces';
import { palette, theme } from '../../store/theme';
import { text } from '../../text';
import { CanvasRenderer } from './canvas';
import { type Colours, coloursOf } from './colours';
import { hasGpu } from './gpu';
import {
  blockAt,
  camera,
  fit,
  moved,
  panBy,
  point,
  pointAway,
  repoint,
  reveal,
  zoomAt,
  zoomBy,
  zoomed,
  zoomOn,
} from './movement';
import { drawOverlay } from './overlay';
import { Pace } from './pace';
import type { Pixels, Renderer, Scene } from './renderer';
import { Tooltip } from './Tooltip';
import { WebGlRenderer } from './webgl';

let renderer: Renderer | null = null;
/** Draw even though nothing changed: what is on the canvas is something else. */
let stale = false;
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
    let { orderVersion } = picture;
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
    const stop = addPainter((now, open, full) => {
      if (renderer === null) return false;
      if (camera.count !== picture.size) camera.resize(camera.width, camera.height, picture.size);
      // While another picture is on its way, this one rests: to draw it takes a machine without a GPU from what is waited for.
      const glowing = picture.glowing && !position.peek().moving;
      if (picture.orderVersion !== orderVersion) {
        orderVersion = picture.orderVersion;
        repoint();
      }
      const { block } = selection.peek();
      const pointed = hover.peek();
      const row = tables.peek()?.rows.find((each) => each.sequence === pointed.sequence);
      const next = nextToGo.peek();
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
        Object.values(rectangle.peek() ?? {}),
      ].join();
      const isSame = look === drawn && colours() === drawnIn;
      if (isSame && !glowing && !stale) return false;
      const { record, step, target, moving } = position.peek();
      const { colour, record: lit } = light.peek();
      const settled = target === null && !moving;
      const verified = colour === 'green' && lit === record;
      const of = [record, step, next, settled, verified].join();
      // What only loses glow leaves a frame to what else is to be shown in it.
      if (!open || (full && isSame && !stale && of === shownOf)) return true;
      if (glowing) picture.tick(performance.now());
      pace.drew(now);
      stale = false;
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
          rectangle: rectangle.peek(),
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
      pointAway();
    };
  }, []);

  // Redraw when what is marked changes.
  useEffect(() => selection.subscribe(() => invalidate()), []);
  useEffect(() => hover.subscribe(() => invalidate()), []);
  useEffect(() => lit.subscribe(() => invalidate()), []);
  useEffect(() => rectangle.subscribe(() => invalidate()), []);

  /** `cell`: from which a rectangle is marked; null: the map is moved. */
  const drag = useRef<{ x: number; y: number; moved: boolean; cell: number | null } | null>(null);
  const at = (event: MouseEvent): [number, number] => {
    const { x, y } = frame.current === null ? { x: -1, y: -1 } : pointIn(frame.current, event);
    return [x * pixelRatio(), y * pixelRatio()];
  };
  const count = hello.value?.num_blocks ?? 0;
  const moveBy = (by: number): void => {
    const from = selection.value.block;
    const next = from === null ? 0 : Math.max(0, Math.min(count - 1, picture.cellOf(from) + by));
    selectBlock(picture.blockAt(next));
    camera.reveal(next);
    moved();
  };
  /** The rectangle's free corner moves; where there is none yet, it begins at the selected block. */
  const growBy = (byColumns: number, byRows: number): void => {
    const { columns, rows } = camera.grid;
    const now = rectangle.peek();
    const begin = picture.cellOf(selection.peek().block ?? picture.blockAt(0));
    const [from, to] = now?.columns === columns ? [now.from, now.to] : [begin, begin];
    const column = Math.max(0, Math.min(columns - 1, (to % columns) + byColumns));
    const row = Math.max(0, Math.min(rows - 1, Math.floor(to / columns) + byRows));
    markRectangle(from, row * columns + column, columns);
    camera.reveal(row * columns + column);
    moved();
  };
  const keys: Record<string, () => void> = {
    ArrowRight: () => moveBy(1),
    ArrowLeft: () => moveBy(-1),
    ArrowDown: () => moveBy(camera.grid.columns),
    ArrowUp: () => moveBy(-camera.grid.columns),
    'Shift+ArrowRight': () => growBy(1, 0),
    'Shift+ArrowLeft': () => growBy(-1, 0),
    'Shift+ArrowDown': () => growBy(0, 1),
    'Shift+ArrowUp': () => growBy(0, -1),
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
        const isArrow = event.key.startsWith('Arrow');
        const act = keys[event.shiftKey && isArrow ? `Shift+${event.key}` : event.key];
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
        const cell = event.shiftKey ? camera.nearest(...at(event)) : null;
        drag.current = { x: event.clientX, y: event.clientY, moved: false, cell };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const held = drag.current;
        if (
          held !== null &&
          (held.moved || Math.abs(event.clientX - held.x) + Math.abs(event.clientY - held.y) > 4)
        ) {
          if (held.cell !== null) {
            drag.current = { ...held, moved: true };
            markRectangle(held.cell, camera.nearest(...at(event)), camera.grid.columns);
            return;
          }
          camera.pan(
            (event.clientX - held.x) * devicePixelRatio,
            (event.clientY - held.y) * devicePixelRatio,
          );
          drag.current = { ...held, x: event.clientX, y: event.clientY, moved: true };
          moved();
          return;
        }
        point(...at(event));
      }}
      onPointerUp={(event) => {
        if (drag.current !== null && !drag.current.moved) {
          const block = blockAt(...at(event));
          selectBlock(block === selection.value.block ? null : block);
        }
        drag.current = null;
      }}
      onPointerCancel={() => {
        drag.current = null;
      }}
      onPointerLeave={() => {
        pointAway();
        hoverBlock(null);
      }}
    >
      <canvas ref={base} />
      <canvas ref={over} class="over" />
      <Tooltip />
    </div>
  );
}
