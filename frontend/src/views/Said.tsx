/** What was said: text as it stands, tokens without text by their ids, and what is not recorded as what it is. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { text } from '../text';
import type { Said as SaidAnswer } from '../worker/answers/said';
import type { Span } from '../worker/pieces';

/** Ids after which a run of them is cut short: nobody reads on. */
const MOST_IDS = 240;

/** Marks of a chat template: they are tokens as all others, and no words. */
const MARK = /(<\|[^|<>\s]{1,40}\|>)/;

function Part({ span }: { readonly span: Span }) {
  if ('text' in span) {
    if (!span.text.includes('<|')) return <span>{span.text}</span>;
    return (
      <span>
        {span.text
          .split(MARK)
          .map((part, i) => (i % 2 === 1 ? <small class="mark num">{part}</small> : part))}
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
        atEnd.current = kind === 'sampled' && scrollTop + clientHeight > scrollHeight - 8;
      }}
    >
      {kind === 'sampled' && said.cut > 0 && <em class="missing">{text.said.cutBefore(said.cut)}</em>}
      {said.spans.map((span, i) => (
        <Part key={i} span={span} />
      ))}
      {kind === 'prompt' && said.cut > 0 && <em class="missing">{text.said.cutAfter(said.cut)}</em>}
      {said.spans.length === 0 && !grows && <span class="faint">{text.said.nothingYet}</span>}
      {grows && <i class="cursor" aria-hidden="true" />}
    </div>
  );
}
