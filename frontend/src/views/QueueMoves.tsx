/** What the present step moved in the free queue, in one line: who left its head, who was hit in its midst, who joined its end. */

import { hover, hoverBlock, selectBlock, selection } from '../store/selection';
import { text } from '../text';
import { CAUSE_NAMES } from '../wording/events';
import { MOVE_KINDS, type Move, type MoveKind, type Moves } from '../worker/moves';

const words = text.queue;

/** The block of the chip that an event is about; null: of none. */
function blockUnder(event: Event): number | null {
  const found = (event.target as HTMLElement).closest('.move');
  return found === null ? null : Number(found.textContent);
}

function MoveChip({ move, kind, isEvicted }: { move: Move; kind: MoveKind; isEvicted: boolean }) {
  const { block, owner } = move;
  const cause = CAUSE_NAMES[move.cause] ?? String(move.cause);
  const isHot = hover.value.block === block || selection.value.block === block;
  const told = words.moved[kind](block, cause, owner) + (isEvicted ? words.lost : '');
  return (
    <button
      type="button"
      class={`move num${isHot ? ' hot' : ''}${isEvicted ? ' evicted' : ''}`}
      aria-label={told}
      // Of the one that the pointer is on: there are many, and each changes with every step.
      title={hover.value.block === block ? told : undefined}
    >
      {block}
    </button>
  );
}

export function QueueMoves({ moves }: { readonly moves: Moves | null }) {
  if (moves === null) return null;
  const evicted = new Set(moves.evicted);
  const kinds = MOVE_KINDS.filter((kind) => moves.counts[kind] > 0);
  return (
    <div
      class="moves"
      role="toolbar"
      aria-label={words.moves}
      onPointerOver={(event) => {
        const block = blockUnder(event);
        if (block !== null) hoverBlock(block);
      }}
      onPointerLeave={() => hoverBlock(null)}
      onClick={(event) => {
        const block = blockUnder(event);
        if (block !== null) selectBlock(selection.value.block === block ? null : block);
      }}
      onKeyDown={undefined}
    >
      {kinds.length === 0 && <span class="faint">{words.noMoves}</span>}
      {kinds.map((kind) => (
        <span key={kind} class={`moved ${kind}`}>
          <span class="dim" title={words.kindTitles[kind]}>
            {words.kinds[kind]} <b class="num">{moves.counts[kind]}</b>
          </span>
          <span class="blocks">
            {moves.kinds[kind].map((move, i) => (
              <MoveChip
                key={i}
                move={move}
                kind={kind}
                isEvicted={kind === 'taken' && evicted.has(move.block)}
              />
            ))}
          </span>
        </span>
      ))}
    </div>
  );
}
