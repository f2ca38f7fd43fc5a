/**
 * The vocabulary as far as a session told it, and tokens joined to text.
 *
 *     [2013, 13787, 131, 105]  ──▶  "caf" "<0xC3>" "<0xA9>"  ──▶  "café"
 *
 * A piece is told with the first record that needs it, anew after a gap. A token whose piece is never told has no text:
 * it is shown by its id.
 */

import { u32 } from '../ledger/columns';
import type { Text } from '../ledger/generated/types';

/** A part of what was said: text, tokens without text, or tokens that are not recorded (null: nobody knows how many). */
export type Span =
  | { readonly text: string }
  | { readonly ids: readonly number[] }
  | { readonly missing: number | null };

/** A sampled token that is not recorded, though it is known that there was one. */
export const LOST = -1;

const BYTES = /^(?:<0x[0-9A-Fa-f]{2}>)+$/;
const decoder = new TextDecoder();

/** The bytes of a piece that is only a part of a character; null: it is text as it stands. */
export function bytesOf(piece: string): number[] | null {
  if (!BYTES.test(piece)) return null;
  return Array.from(piece.matchAll(/[0-9A-Fa-f]{2}(?=>)/g), ([digits]) => Number.parseInt(digits, 16));
}

/** What one token wrote (null: it has no text), or several whose bytes make a character only together. */
export interface Part {
  readonly text: string | null;
  /** The place of its first token, and how many it has. */
  readonly from: number;
  readonly count: number;
}

/** A text cut where its tokens begin. `cut`: at its end a character may have only its beginning, which is left out. */
export function partsOf(pieces: readonly (string | null)[], cut: boolean): readonly Part[] {
  const parts: Part[] = [];
  let bytes: number[] = [];
  let from = 0;
  const end = (place: number, last: boolean): void => {
    const text = new TextDecoder().decode(Uint8Array.from(bytes), { stream: last && cut });
    if (text !== '') parts.push({ text, from, count: place - from });
    bytes = [];
  };
  pieces.forEach((piece, place) => {
    const own = piece === null ? null : bytesOf(piece);
    if (own !== null) {
      if (bytes.length === 0) from = place;
      bytes.push(...own);
      return;
    }
    end(place, false);
    parts.push({ text: piece === '' ? null : piece, from: place, count: 1 });
  });
  end(pieces.length, true);
  return parts;
}

/** Joins tokens to spans. Runs of pieces that are bytes are decoded together, as UTF-8. */
export class Joiner {
  readonly spans: Span[] = [];
  private text = '';
  private bytes: number[] = [];
  private ids: number[] = [];

  constructor(private readonly pieces: ReadonlyMap<number, string>) {}

  add(token: number): void {
    if (token === LOST) {
      this.missing(1);
      return;
    }
    const piece = this.pieces.get(token);
    if (piece === undefined || piece === '') {
      this.endText();
      this.ids.push(token);
      return;
    }
    if (this.ids.length > 0) this.endIds();
    const bytes = bytesOf(piece);
    if (bytes !== null) this.bytes.push(...bytes);
    else {
      this.endBytes();
      this.text += piece;
    }
  }

  /** Tokens that are not recorded stood here. */
  missing(count: number | null): void {
    this.finish();
    const last = this.spans.at(-1);
    if (last !== undefined && 'missing' in last) {
      this.spans.pop();
      const sum = last.missing === null || count === null ? null : last.missing + count;
      this.spans.push({ missing: sum });
    } else this.spans.push({ missing: count });
  }

  /** `cut`: what is only the beginning of a character is left out. */
  private endBytes(cut = false): void {
    if (this.bytes.length === 0) return;
    const bytes = Uint8Array.from(this.bytes);
    this.text += cut ? new TextDecoder().decode(bytes, { stream: true }) : decoder.decode(bytes);
    this.bytes = [];
  }

  private endText(cut = false): void {
    this.endBytes(cut);
    if (this.text !== '') this.spans.push({ text: this.text });
    this.text = '';
  }

  private endIds(): void {
    if (this.ids.length > 0) this.spans.push({ ids: this.ids });
    this.ids = [];
  }

  /** `grows`: more will follow, and may complete the last character: it is held back until then. */
  finish(grows = false): readonly Span[] {
    this.endText(grows);
    this.endIds();
    return this.spans;
  }
}

export function join(
  tokens: Iterable<number>,
  pieces: ReadonlyMap<number, string>,
  grows = false,
): readonly Span[] {
  const joiner = new Joiner(pieces);
  for (const token of tokens) joiner.add(token);
  return joiner.finish(grows);
}

/** Take the pieces that a record tells. */
export function takePieces(pieces: Map<number, string>, told: Text['pieces']): void {
  const tokens = u32(told?.token, 'pieces.token');
  tokens.forEach((token, i) => {
    const piece = told?.piece?.[i];
    if (piece !== undefined) pieces.set(token, piece);
  });
}
