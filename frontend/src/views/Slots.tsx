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

/** A piece of the block's text: what one token wrote, or several whose bytes make a character only together. */
export interface Part {
  readonly text: string;
  readonly slot: number;
}

/** The text of a block, cut where its tokens begin; tokens without text have no part in it. */
export function partsOf(slots: SlotsAnswer): readonly Part[] {
  const parts: Part[] = [];
  let bytes: number[] = [];
  let from = 0;
  const end = (last: boolean): void => {
    // At the end of a block a character may be cut: its other bytes stand in the next one.
    const text = new TextDecoder().decode(Uint8Array.from(bytes), { stream: last });
    if (text !== '') parts.push({ text, slot: from });
    bytes = [];
  };
  slots.pieces.forEach((piece, slot) => {
    const own = piece === null ? null : bytesOf(piece);
    if (own !== null) {
      if (bytes.length === 0) from = slot;
      bytes.push(...own);
      return;
    }
    end(false);
    if (piece !== null && piece !== '') parts.push({ text: piece, slot });
  });
  end(true);
  return parts;
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
  const parts = partsOf(slots);
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
      >
        {Array.from({ length: size }, (_, slot) => {
          if (slot >= filled) return <span key={slot} class="slot" title={text.inspector.emptySlot(slot)} />;
          const token = slots.tokens[slot] ?? null;
          const piece = slots.pieces[slot] ?? null;
          return (
            <span
              key={slot}
              class="slot on"
              title={text.inspector.slot(slot, token, piece)}
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
          {parts.map(({ text: part, slot }) => (
            <span key={slot} title={text.inspector.slot(slot, slots.tokens[slot] ?? null, part)}>
              {part}
            </span>
          ))}
        </p>
      )}
    </>
  );
}
