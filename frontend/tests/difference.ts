/** Keyframes that tell only what changed since another one, as the server makes them. */

import { NOT_QUEUED } from '../src/ledger/blockColumns';
import { Blocks } from '../src/ledger/blocks';
import type { BlockColumns, Keyframe } from '../src/ledger/generated/types';

const bytes = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** A column of words in the narrowest width that holds its values. */
function narrow(values: number[]): Uint8Array {
  const highest = values.reduce((most, value) => Math.max(most, value), 0);
  if (highest < 1 << 8) return Uint8Array.from(values);
  return bytes(highest < 1 << 16 ? Uint16Array.from(values) : Uint32Array.from(values));
}

function narrowTickets(values: number[]): Uint8Array {
  const fits = values.every((value) => Number.isNaN(value) || Math.abs(value) < 2 ** 31);
  if (!fits) return bytes(Float64Array.from(values));
  return bytes(Int32Array.from(values, (value) => (Number.isNaN(value) ? NOT_QUEUED : value)));
}

const WORDS = ['generation', 'count', 'content', 'filled', 'hits'] as const;

function columnsOf(blocks: Blocks, of: number[]): BlockColumns {
  const columns: BlockColumns = { ticket: narrowTickets(of.map((b) => blocks.ticket[b]!)) };
  for (const name of WORDS) columns[name] = narrow(of.map((b) => blocks[name][b]!));
  return columns;
}

function blocksOf(columns: BlockColumns | undefined, numBlocks: number): Blocks {
  const blocks = new Blocks(numBlocks);
  blocks.load(columns ?? {});
  return blocks;
}

/** `keyframe`, but of its blocks only those that are others than in `base`. */
export function differenceSince(base: Keyframe, keyframe: Keyframe, numBlocks: number): Keyframe {
  const before = blocksOf(base.blocks, numBlocks);
  const after = blocksOf(keyframe.blocks, numBlocks);
  const changed = Array.from(after.count.keys()).filter(
    (b) =>
      !Object.is(before.ticket[b], after.ticket[b]) ||
      WORDS.some((name) => before[name][b] !== after[name][b]),
  );
  return {
    ...keyframe,
    since: base.record,
    changed: bytes(Uint32Array.from(changed)),
    blocks: columnsOf(after, changed),
  };
}
