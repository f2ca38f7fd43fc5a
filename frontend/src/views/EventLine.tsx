/** The parts of a line that says what happened: in the list of events, in a biography, in a story. */

import { integer } from '../format';
import { NONE } from '../ledger/generated/constants';
import { jump } from '../store/clock';
import { hoverBlock, selectBlock, selectRequest, selectSequence } from '../store/selection';
import { text } from '../text';
import { OPERATION_NAMES } from '../wording/events';
import type { EventRow } from '../worker/answers/events';

export function StepLink({ step }: { readonly step: number }) {
  return (
    <button
      type="button"
      class="plain step num"
      onClick={() => jump(step)}
      title={text.timeline.tip(step, step)}
    >
      {integer(step)}
    </button>
  );
}

/** The name of an operation or decision, in its colour. */
export function Kind({ row }: { readonly row: EventRow }) {
  if (typeof row.kind === 'number') {
    const name = OPERATION_NAMES[row.kind] ?? String(row.kind);
    return <b class={`k-${name}`}>{name}</b>;
  }
  const { kind } = row.kind;
  return (
    <b class={kind === 'preempted' || kind === 'refused' || kind === 'gap' ? 'k-preempted' : 'k-decision'}>
      {text.decisions[kind]}
    </b>
  );
}

export function BlockLink({ row }: { readonly row: EventRow }) {
  return (
    <span class="num block">
      {row.block !== NONE && (
        <button
          type="button"
          class="link"
          onClick={() => selectBlock(row.block)}
          onPointerOver={() => hoverBlock(row.block)}
        >
          {row.block}
          {row.generation !== null && <span class="faint">#{row.generation}</span>}
        </button>
      )}
    </span>
  );
}

/** Whom it served. In the story of a request only its sequences are named. */
export function Who({ row, own }: { readonly row: EventRow; readonly own: 'block' | 'request' }) {
  if (row.label === '' || (own === 'request' && row.sequence === NONE)) return null;
  const { kind } = row;
  const select = (): void => {
    if (row.sequence !== NONE) selectSequence(row.sequence);
    else if (typeof kind !== 'number' && kind.kind !== 'gap') selectRequest(kind.request);
  };
  return (
    <button type="button" class="link num who" onClick={select}>
      {row.label}
    </button>
  );
}
