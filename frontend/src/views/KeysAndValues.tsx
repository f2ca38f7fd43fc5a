/**
 * What a block holds on the device, as norms: a column a layer, a row a KV head.
 *
 *     keys    ▒▓█▓▒░░▒▓  heads        values  ░▒▒▓▓███▓
 *             layers →
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { takesPrompts } from '../store/engine';
import { type BlockNorms, readBlock, reading } from '../store/keysAndValues';
import { hello, isLive } from '../store/ledger';
import { pixelRatio, pointIn } from '../store/scale';
import { current } from '../store/sessions';
import { palette } from '../store/theme';
import { text } from '../text';
import type { BlockAnswer } from '../worker/answers/inspect';
import { rgb } from './palette';

const words = text.keysAndValues;
const ROW = 9;

function inWords(norm: number): string {
  return norm.toPrecision(3);
}

interface PlaneProps {
  readonly name: string;
  readonly norms: readonly number[];
  readonly layers: number;
  readonly heads: number;
}

function Plane({ name, norms, layers, heads }: PlaneProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const least = Math.min(...norms);
  const most = Math.max(...norms);
  const colours = palette.value;
  const ratio = pixelRatio();
  useEffect(() => {
    const target = canvas.current!;
    const context = target.getContext('2d')!;
    target.width = Math.round(target.clientWidth * ratio);
    target.height = Math.round(target.clientHeight * ratio);
    const [low, high] = [rgb(colours.raised), rgb(colours.accent)];
    const [width, height] = [target.width / layers, target.height / heads];
    norms.forEach((norm, i) => {
      const part = most > least ? (norm - least) / (most - least) : 0;
      const [red, green, blue] = low.map((from, each) => Math.round(from + (high[each]! - from) * part));
      context.fillStyle = `rgb(${red} ${green} ${blue})`;
      const [x, y] = [Math.floor(i / heads) * width, (i % heads) * height];
      // To whole pixels: a seam between two cells would be read as a third.
      context.fillRect(
        Math.round(x),
        Math.round(y),
        Math.round(x + width) - Math.round(x),
        Math.round(y + height) - Math.round(y),
      );
    });
  }, [norms, layers, heads, least, most, colours, ratio]);
  const at = pointed === null ? undefined : norms[pointed];
  return (
    <figure class="norms">
      <figcaption>
        {name}
        <span class="num faint">
          {pointed !== null && at !== undefined
            ? words.cell(Math.floor(pointed / heads), pointed % heads, inWords(at))
            : words.range(inWords(least), inWords(most))}
        </span>
      </figcaption>
      <canvas
        ref={canvas}
        role="img"
        aria-label={words.told(name, layers, heads, inWords(least), inWords(most))}
        style={{ height: `${heads * ROW}px` }}
        onPointerMove={(event) => {
          const { clientWidth, clientHeight } = event.currentTarget;
          const { x, y } = pointIn(event.currentTarget, event);
          const layer = Math.max(0, Math.min(layers - 1, Math.floor((x / clientWidth) * layers)));
          const head = Math.max(0, Math.min(heads - 1, Math.floor((y / clientHeight) * heads)));
          setPointed(layer * heads + head);
        }}
        onPointerLeave={() => setPointed(null)}
      />
    </figure>
  );
}

function Norms({ found }: { readonly found: BlockNorms }) {
  const planes = [
    [words.key, found.key],
    [words.value, found.value],
  ] as const;
  return (
    <>
      {planes.map(([name, norms]) => (
        <Plane key={name} name={name} norms={norms} layers={found.layers} heads={found.kv_heads} />
      ))}
      <p class="faint num">
        {words.readAt(found.first, found.last, found.step)} · {words.axes(found.layers, found.kv_heads)}
      </p>
    </>
  );
}

/** Nothing where the engine computes no keys and values. */
export function KeysAndValues({ answer }: { readonly answer: BlockAnswer }) {
  const [slot, setSlot] = useState<number | null>(null);
  const { block, generation, filled } = answer;
  // Another block, or another life of it, is read as a whole first.
  useEffect(() => setSlot(null), [block, generation]);
  if ((hello.value?.kv_bytes_per_block ?? 0) === 0 || filled === 0) return null;
  const last = reading.value;
  const isMine =
    last?.session === current.value?.id && last?.block === block && last.generation === generation;
  const mine = isMine ? last : null;
  const found = mine?.found ?? null;
  const read = (which: number | null): void => void readBlock(block, generation, which);
  return (
    <section class="device" aria-label={words.title}>
      <div class="head">
        <h2>{words.title}</h2>
        {isLive.value && (
          <>
            {mine !== null && (
              <select
                aria-label={words.slots}
                value={slot ?? ''}
                onChange={(event) => {
                  const value = event.currentTarget.value === '' ? null : Number(event.currentTarget.value);
                  setSlot(value);
                  read(value);
                }}
              >
                <option value="">{words.allSlots}</option>
                {Array.from({ length: filled }, (_, each) => (
                  <option key={each} value={each}>
                    {words.slot(each)}
                  </option>
                ))}
              </select>
            )}
            <button
              type="button"
              class="plain"
              disabled={!takesPrompts.value || (mine !== null && found === null)}
              title={takesPrompts.value ? undefined : words.unreachable}
              onClick={() => read(slot)}
            >
              {mine === null ? words.read : found === null ? words.reading : words.again}
            </button>
          </>
        )}
      </div>
      {!isLive.value && <p class="faint">{words.notRecorded}</p>}
      {found !== null && 'error' in found && (
        <p class="bad" role="alert">
          {found.error}
        </p>
      )}
      {found !== null && 'layers' in found && <Norms found={found} />}
    </section>
  );
}
