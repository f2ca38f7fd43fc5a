/**
 * The hashes of contents, by vLLM's chain `sha256_cbor`: what a page knows that holds its recording. Its twins are
 * `kvarium_ledger.hashes` and `kvarium.recording.content_hashes`.
 *
 *     root = sha256(cbor(seed))
 *     hash = sha256(cbor([the parent's hash, [token ids], extra keys]))
 */

import { u32 } from '../ledger/columns';
import { NONE } from '../ledger/generated/constants';
import type { Contents, Hello, Text } from '../ledger/generated/types';

type Plain = readonly Plain[] | Uint8Array | string | number | null;

function head(major: number, value: number): number[] {
  const bytes = value < 24 ? 0 : value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : 4;
  const low = bytes === 0 ? value : 24 + Math.log2(bytes);
  const rest = Array.from({ length: bytes }, (_, at) => (value >>> (8 * (bytes - 1 - at))) & 0xff);
  return [(major << 5) | low, ...rest];
}

/** Canonical CBOR of lists, bytes, texts, whole numbers from 0 to 2^32 - 1, and null. */
function cbor(value: Plain): number[] {
  if (value === null) return [0xf6];
  if (typeof value === 'number') return head(0, value);
  if (value instanceof Uint8Array) return [...head(2, value.length), ...value];
  if (typeof value === 'string') {
    const bytes = new TextEncoder().encode(value);
    return [...head(3, bytes.length), ...bytes];
  }
  return [...head(4, value.length), ...value.flatMap(cbor)];
}

async function sha256(value: Plain): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(cbor(value))));
}

export class ContentHashes {
  private readonly found = new Map<number, Uint8Array>();

  private constructor(
    private readonly root: Uint8Array,
    private readonly blockSize: number,
  ) {}

  static async of({ config, block_size }: Pick<Hello, 'config' | 'block_size'>): Promise<ContentHashes> {
    return new ContentHashes(await sha256(String(config?.prefix_caching_hash_seed ?? '0')), block_size);
  }

  /** In hexadecimal digits; undefined: it is not known. */
  get(content: number): string | undefined {
    const bytes = this.found.get(content);
    return bytes && Array.from(bytes, (each) => each.toString(16).padStart(2, '0')).join('');
  }

  /** Note the hashes that a record tells of its contents, if it does. */
  note({ content, hash, hash_size: size = 0 }: Contents): void {
    if (content === undefined || hash === undefined || size === 0) return;
    u32(content, 'contents.content').forEach((id, at) => {
      this.found.set(id, hash.slice(at * size, (at + 1) * size));
    });
  }

  /** The hashes of the contents of a step, whose tokens `text` tells. */
  async learn(contents: Contents, text: Text): Promise<void> {
    const parent = u32(contents.parent, 'contents.parent');
    const parents = new Map(
      Array.from(u32(contents.content, 'contents.content'), (id, at) => [id, parent[at]]),
    );
    const keys = new Map(
      (text.extra ?? []).flatMap((each) =>
        Array.from(u32(each.content, 'extra.content'), (id) => [id, each.keys ?? []] as const),
      ),
    );
    const tokens = u32(text.tokens, 'tokens');
    const { blockSize } = this;
    for (const [place, id] of u32(text.content, 'content').entries()) {
      const of = parents.get(id);
      const before = of === NONE ? this.root : of === undefined ? undefined : this.found.get(of);
      const words = tokens.slice(place * blockSize, (place + 1) * blockSize);
      if (before !== undefined && words.length === blockSize)
        this.found.set(id, await sha256([before, [...words], keys.get(id) ?? null]));
    }
  }
}
