/** What an answer is told with: sentences of the catalogue in whose braces stand links, each to where it is so. */

import type { ComponentChildren } from 'preact';
import { jumpTo } from '../../store/clock';
import { goToMoment } from '../../store/eventSteps';
import type { Life as LifeTold, Moment, Who } from '../../store/generated/answers';
import { hoverBlock, selectBlock, selection, selectRequest, selectSequence } from '../../store/selection';
import { text } from '../../text';

const words = text.why;

/** A sentence, with what stands in its braces. Punctuation stays in the line of the link that it follows. */
export function Told({
  words: sentence,
  parts = {},
}: {
  readonly words: string;
  readonly parts?: Readonly<Record<string, ComponentChildren>>;
}) {
  const pieces = sentence.split(/(\{\w+\})/);
  return (
    <>
      {pieces.map((each, at) => {
        if (!each.startsWith('{')) return isOneLink(pieces[at - 1]) ? each.replace(MARK, '') : each;
        const part = parts[each.slice(1, -1)] ?? each;
        const mark = isOneLink(each) ? (MARK.exec(pieces[at + 1] ?? '')?.[0] ?? '') : '';
        if (mark === '') return part;
        return (
          <span class="glued">
            {part}
            {mark}
          </span>
        );
      })}
    </>
  );
}

/** What ends a part of a sentence. */
const MARK = /^[:,.;?!)]+/;
/** What stands in these braces is no longer than that it fits into a line. */
const isOneLink = (piece: string | undefined): boolean => /^\{(who|at|life)\}$/.test(piece ?? '');

/** A place: going there selects the event, the first from there on that meets the filter. */
export function At({ at, of }: { readonly at: Moment; readonly of: string }) {
  return (
    <button
      type="button"
      class="link num"
      title={words.goThere(at.step, at.op)}
      onClick={() => void goToMoment(at, of)}
    >
      {words.place(at.step, at.op)}
    </button>
  );
}

export function RecordLink({ record, children }: { readonly record: number; readonly children: string }) {
  return (
    <button
      type="button"
      class="link"
      title={words.goToRecord(record)}
      onClick={() => jumpTo({ kind: 'record', record })}
    >
      {children}
    </button>
  );
}

export function Whom({ who }: { readonly who: Who | null }) {
  if (who === null) return <span class="faint">{words.nobodyKnown}</span>;
  const { request, sequence, index } = who;
  const isOn = selection.value.request === request;
  return (
    <span class="asker">
      <button
        type="button"
        class={`link num${isOn ? ' on' : ''}`}
        onClick={() => (sequence === null ? selectRequest(request) : selectSequence(sequence))}
      >
        r{request}
        {index ? `.${index}` : ''}
      </button>
      {who.name !== null && <span class="called dim"> {who.name}</span>}
    </span>
  );
}

export function Life({ life }: { readonly life: LifeTold }) {
  return (
    <button
      type="button"
      class={`link num${selection.value.block === life.block ? ' on' : ''}`}
      onClick={() => selectBlock(life.block)}
      onPointerOver={() => hoverBlock(life.block)}
      onPointerOut={() => hoverBlock(null)}
    >
      {life.block}
      {life.generation !== null && <span class="faint">#{life.generation}</span>}
    </button>
  );
}

/** A list in a line, the first of it. */
export function Some<T>({
  list,
  children,
  most = 8,
}: {
  readonly list: readonly T[];
  readonly children: (each: T) => ComponentChildren;
  readonly most?: number;
}) {
  return (
    <>
      {list.slice(0, most).map((each, at) => (
        <span key={at}>
          {at > 0 && ', '}
          {children(each)}
        </span>
      ))}
      {list.length > most && <span class="faint">, {words.more(list.length - most)}</span>}
    </>
  );
}

/** A fact: what it is of, and what is so. */
export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function Unknown({ told }: { readonly told: readonly string[] }) {
  if (told.length === 0) return null;
  return (
    <Fact name={words.unknown}>
      {told.map((each) => (
        <p key={each} class="warn">
          {each}
        </p>
      ))}
    </Fact>
  );
}
