/** A block's slots: what stands in each that is written, white space made visible, and the ones that are still empty. */

import { pointAt, pointNowhere, shaded, shadeOf } from '../store/odds';
import { text } from '../text';
import type { Slots as SlotsAnswer } from '../worker/answers/said';
import { bytesOf, type Part, partsOf } from '../worker/pieces';

const SIGNS: Readonly<Record<string, string>> = { ' ': '␣', '\n': '⏎', '\t': '⇥' };

/** A piece with its white space as quiet signs. */
function Piece({ piece }: { readonly piece: string }) {
  if (bytesOf(piece) !== null)
    return <small class="faint num">{piece.replaceAll(/<0x|>/g, ' ').trim()}</small>;
  return (
    <>
      {Array.from(piece.matchAll(/[ \n\t]|[^ \n\t]+/g), ([part], i) =>
        SIGNS[part] === undefined ? <span key={i}>{part}</span> : <u key={i}>{SIGNS[part]}</u>,
      )}
    </>
  );
}

/** The text of a block, cut where its tokens begin; tokens without text have no part in it. */
export function textOf(slots: SlotsAnswer): readonly (Part & { readonly text: string })[] {
  // At its end a character may be cut: its other bytes stand in the next block.
  return partsOf(slots.pieces, true).filter(
    (part): part is Part & { readonly text: string } => part.text !== null,
  );
}

interface Props {
  readonly slots: SlotsAnswer;
  readonly filled: number;
  readonly size: number;
  readonly state: 'active' | 'shared' | 'cached' | 'free';
}

export function Slots({ slots, filled, size, state }: Props) {
  // Four in a row: most tokens can be read whole there. What is longer stands in the text below.
  const columns = Math.min(size, size <= 32 ? 4 : 8);
  const { odds } = slots;
  const parts = textOf(slots);
  const pieces = slots.pieces.map(
    (piece, i) => piece ?? (slots.tokens[i] == null ? '' : `#${slots.tokens[i]}`),
  );
  return (
    <>
      <div
        class={`slots ${state}`}
        role="img"
        aria-label={text.inspector.slots(filled, size, pieces.join('').trim())}
        style={{ '--slots': columns }}
        onPointerOver={(event) => {
          const told = (event.target as Element).closest<HTMLElement>('.token');
          if (odds !== null && told !== null)
            pointAt(told, odds.sequence, odds.first + Number(told.dataset.slot));
          else pointNowhere();
        }}
        onPointerLeave={pointNowhere}
      >
        {Array.from({ length: size }, (_, slot) => {
          if (slot >= filled) return <span key={slot} class="slot" title={text.inspector.emptySlot(slot)} />;
          const token = slots.tokens[slot] ?? null;
          const piece = slots.pieces[slot] ?? null;
          const logprob = odds?.logprobs[slot] ?? Number.NaN;
          const isTold = odds !== null && !Number.isNaN(logprob);
          const shade = shaded.value ? shadeOf(logprob) : 0;
          return (
            <span
              key={slot}
              class={`slot on${isTold ? ` token o${shade}` : ''}`}
              title={isTold ? undefined : text.inspector.slot(slot, token, piece)}
              data-slot={slot}
              data-token={token}
            >
              {piece !== null ? (
                <Piece piece={piece} />
              ) : (
                token !== null && <small class="id num">{token}</small>
              )}
            </span>
          );
        })}
      </div>
      {parts.length > 0 && (
        <p class="blocktext" title={text.inspector.blockText}>
          {parts.map(({ text: part, from: slot }) => (
            <span key={slot} title={text.inspector.slot(slot, slots.tokens[slot] ?? null, part)}>
              {part}
            </span>
          ))}
        </p>
      )}
    </>
  );
}
