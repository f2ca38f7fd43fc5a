/** What was said: text as it stands, tokens without text by their ids, and what is not recorded as what it is. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { pointAt, pointed, pointNowhere, shaded, shadeOf } from '../store/odds';
import { text } from '../text';
import type { Said as SaidAnswer, SaidOdds } from '../worker/answers/said';
import type { Span } from '../worker/pieces';

/** Ids after which a run of them is cut short: nobody reads on. */
const MOST_IDS = 240;

/** Marks of a chat template: they are tokens as all others, and no words. */
const MARK = /(<\|[^|<>\s]{1,40}\|>)/;

/** Text with its marks set apart. */
function Words({ words }: { readonly words: string }) {
  if (!words.includes('<|')) return <>{words}</>;
  return (
    <>{words.split(MARK).map((part, i) => (i % 2 === 1 ? <small class="mark num">{part}</small> : part))}</>
  );
}

function Part({ span }: { readonly span: Span }) {
  if ('text' in span) {
    return (
      <span>
        <Words words={span.text} />
      </span>
    );
  }
  if ('missing' in span) return <em class="missing">{text.said.missing(span.missing)}</em>;
  const cut = span.ids.length - MOST_IDS;
  return (
    <span class="ids num" title={text.said.idsTitle}>
      {cut > 0 && '… '}
      {span.ids
        .slice(-MOST_IDS)
        .map((id) => `#${id}`)
        .join(' ')}{' '}
    </span>
  );
}

/** Token by token, shaded by how likely each was; the one at `place` is marked. */
function Tokens({ odds, place }: { readonly odds: SaidOdds; readonly place: number | null }) {
  const isShaded = shaded.value;
  return (
    <>
      {odds.parts.map(({ text: said, from, count }) => {
        const shade = isShaded ? shadeOf(odds.logprobs[from]!) : 0;
        const isOn = place === odds.first + from;
        return (
          <span
            key={from}
            class={`token o${shade}${isOn ? ' on' : ''}`}
            data-place={odds.first + from}
            data-count={count}
          >
            {said === null ? <span class="ids num">#{odds.ids[from]} </span> : <Words words={said} />}
          </span>
        );
      })}
    </>
  );
}

function pointAtToken(element: Element, sequence: number): void {
  const { place, count } = (element as HTMLElement).dataset;
  pointAt(element, sequence, Number(place), Number(count));
}

/** From the token that is pointed at to the one beside it; the last one where none is. */
function pointBeside(box: HTMLElement, odds: SaidOdds, by: 1 | -1): void {
  const tokens = [...box.querySelectorAll('.token')];
  const now = pointed.peek();
  const at =
    now?.sequence === odds.sequence
      ? tokens.findIndex((each) => (each as HTMLElement).dataset.place === String(now.place))
      : -1;
  const next = tokens[at < 0 ? (by > 0 ? 0 : tokens.length - 1) : at + by];
  if (next === undefined) return;
  next.scrollIntoView({ block: 'nearest' });
  pointAtToken(next, odds.sequence);
}

interface Props {
  readonly said: SaidAnswer | null;
  readonly label: string;
  readonly kind: 'prompt' | 'sampled';
  /** Does more come? Then a cursor stands at its end. */
  readonly grows?: boolean;
}

/** A box of text. Whoever has scrolled to its end stays there while it grows. */
export function Said({ said, label, kind, grows = false }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(kind === 'sampled');
  useLayoutEffect(() => {
    if (box.current !== null && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  });
  if (said === null) return null;
  const { odds } = said;
  const place = odds !== null && pointed.value?.sequence === odds.sequence ? pointed.value.place : null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a text that scrolls is no fieldset
    <div
      ref={box}
      class={`said ${kind}`}
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region has to take the focus to be scrolled by keys
      tabIndex={0}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        pointNowhere();
        atEnd.current = kind === 'sampled' && scrollTop + clientHeight > scrollHeight - 8;
      }}
      onPointerOver={(event) => {
        const token = odds === null ? null : (event.target as Element).closest('.token');
        if (odds !== null && token !== null) pointAtToken(token, odds.sequence);
      }}
      onPointerLeave={pointNowhere}
      onBlur={pointNowhere}
      onKeyDown={(event) => {
        const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (odds === null || by === 0) return;
        event.preventDefault();
        event.stopPropagation();
        pointBeside(event.currentTarget, odds, by);
      }}
    >
      {kind === 'sampled' && said.cut > 0 && <em class="missing">{text.said.cutBefore(said.cut)}</em>}
      {odds !== null ? (
        <Tokens odds={odds} place={place} />
      ) : (
        said.spans.map((span, i) => <Part key={i} span={span} />)
      )}
      {kind === 'prompt' && said.cut > 0 && <em class="missing">{text.said.cutAfter(said.cut)}</em>}
      {said.spans.length === 0 && !grows && <span class="faint">{text.said.nothingYet}</span>}
      {grows && <i class="cursor" aria-hidden="true" />}
    </div>
  );
}
