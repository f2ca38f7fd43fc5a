/** A block's slots: what stands in each that is written, white space made visible, and the ones that are still empty. */

import { text } from '../text';
import type { Slots as SlotsAnswer } from '../worker/answers/said';
import { bytesOf } from '../worker/pieces';

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

interface Props {
  readonly slots: SlotsAnswer;
  readonly filled: number;
  readonly size: number;
  readonly state: 'active' | 'shared' | 'cached' | 'free';
}

export function Slots({ slots, filled, size, state }: Props) {
  const columns = size % 8 === 0 ? 8 : Math.min(size, 8);
  const pieces = slots.pieces.map(
    (piece, i) => piece ?? (slots.tokens[i] == null ? '' : `#${slots.tokens[i]}`),
  );
  return (
    <div
      class={`slots ${state}`}
      role="img"
      aria-label={text.inspector.slots(filled, size, pieces.join('').trim())}
      style={{ '--slots': columns }}
    >
      {Array.from({ length: size }, (_, slot) => {
        if (slot >= filled) return <span key={slot} class="slot" title={text.inspector.emptySlot(slot)} />;
        const token = slots.tokens[slot] ?? null;
        const piece = slots.pieces[slot] ?? null;
        return (
          <span key={slot} class="slot on" title={text.inspector.slot(slot, token, piece)} data-token={token}>
            {piece !== null ? (
              <Piece piece={piece} />
            ) : (
              token !== null && <small class="id num">{token}</small>
            )}
          </span>
        );
      })}
    </div>
  );
}
