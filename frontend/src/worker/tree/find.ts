/**
 * Finds what a text would hit: the way from the top down which the text of contents is the beginning of it.
 *
 *     typed     "Once upon a time, there was a cat"
 *     content 4 "Once upon a time"          the same: 1 block, 16 tokens
 *       content 9 ", there was a dog"       the same up to here, then it differs: not a block that a prompt would hit
 *
 * Texts are compared by their bytes, since a character may have its bytes in two blocks. A text can be cut into tokens in
 * more than one way, so what is found is what the cache has of this text; the tokenizer is with the engine.
 */

import { bytesOf } from '../pieces';
import { NO_NODE, type Trie } from './trie';

/** Of more contents at the top no more are looked at than these. */
export const MOST_LOOKED = 20_000;
/** Not more than these are told of those that meet the text equally. */
const MOST_MET = 1000;

export interface Found {
  /** Nodes in which the text ends or differs, all equally far. */
  readonly nodes: readonly number[];
  /** Whole blocks that it meets. */
  readonly blocks: number;
  /** How far the text is met: characters; is that all of it? */
  readonly met: number;
  readonly isWhole: boolean;
  /** Contents that were to be looked at and whose text is not here yet. */
  readonly awaited: readonly number[];
}

const encoder = new TextEncoder();

/** The bytes of tokens, made once. */
export class TokenBytes {
  private readonly made = new Map<number, Uint8Array>();

  constructor(private readonly pieces: ReadonlyMap<number, string>) {}

  /** undefined: its piece is not known. */
  of(token: number): Uint8Array | undefined {
    let bytes = this.made.get(token);
    if (bytes !== undefined) return bytes;
    const piece = this.pieces.get(token);
    if (piece === undefined) return undefined;
    const parts = bytesOf(piece);
    bytes = parts === null ? encoder.encode(piece) : Uint8Array.from(parts);
    this.made.set(token, bytes);
    return bytes;
  }
}

/** Space, line feed, tabulator: at the beginning they make no difference. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x09;
}

/** How far a text goes through a content. */
interface Met {
  /** The place in the text behind what is met, and whether all of the content's text is. */
  readonly to: number;
  readonly isAll: boolean;
}

function meet(text: Uint8Array, from: number, tokens: Uint32Array, bytes: TokenBytes): Met {
  let at = from;
  for (const token of tokens) {
    const own = bytes.of(token);
    if (own === undefined) return { to: at, isAll: false };
    for (const byte of own) {
      if (at === 0 && isBlank(byte)) continue;
      if (at === text.length) return { to: at, isAll: false };
      if (text[at] !== byte) return { to: at, isAll: false };
      at++;
    }
  }
  return { to: at, isAll: true };
}

/** Look for a text. `tokensOf`: null: not recorded, undefined: not here yet. */
export function find(
  trie: Trie,
  typed: string,
  tokensOf: (content: number) => Uint32Array | null | undefined,
  bytes: TokenBytes,
): Found {
  const text = encoder.encode(typed.trimStart());
  let best = 0;
  let blocks = 0;
  let nodes: number[] = [];
  const awaited: number[] = [];
  const note = (node: number, to: number, whole: number): void => {
    if (to === 0 || to < best) return;
    if (to > best) {
      best = to;
      blocks = 0;
      nodes = [];
    }
    blocks = Math.max(blocks, whole);
    if (nodes.length < MOST_MET) nodes.push(node);
  };
  const left: { node: number; from: number; depth: number }[] = [];
  for (const root of trie.roots.subarray(0, MOST_LOOKED))
    if (trie.reachable[root] === 1) left.push({ node: root, from: 0, depth: 1 });
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, from, depth } = next;
    const tokens = tokensOf(trie.content[node]!);
    if (tokens === undefined) awaited.push(trie.content[node]!);
    if (tokens == null) continue;
    const { to, isAll } = meet(text, from, tokens, bytes);
    if (isAll) note(node, to, depth);
    // Where it differs at once, what is above it is met as far.
    else if (to > from) note(node, to, depth - 1);
    if (!isAll || to === text.length) continue;
    for (let child = trie.firstChild[node]!; child !== NO_NODE; child = trie.nextSibling[child]!)
      left.push({ node: child, from: to, depth: depth + 1 });
  }
  const met = new TextDecoder().decode(text.subarray(0, best), { stream: true }).length;
  return { nodes, blocks, met, isWhole: best === text.length, awaited };
}
