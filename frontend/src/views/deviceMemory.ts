/** What the device's memory is taken by, as the engine told it when it began (`engine/kvarium_engine/card_memory.py`). */

import type { Hello } from '../ledger/generated/types';

/** In the order in which they are drawn. */
export const SHARES = ['weights', 'kv_cache', 'activations', 'graphs', 'other', 'free'] as const;
export type Share = (typeof SHARES)[number];

export interface DeviceMemory {
  /** Bytes; null: it was not told. */
  readonly shares: Readonly<Record<Share, number | null>>;
  /** All of the device; null: it was not told, as of a CPU. */
  readonly total: number | null;
  /** What the shares that are known take together. */
  readonly known: number;
}

/** The name of what is told of a share in the handshake's settings. */
export function settingOf(share: Share | 'total'): string {
  return `memory_${share}_bytes`;
}

/** null: there are no tensors. An engine that tells nothing still says how large its blocks are. */
export function deviceMemoryOf(hello: Hello): DeviceMemory | null {
  const pool = (hello.kv_bytes_per_block ?? 0) * hello.num_blocks;
  if (pool === 0) return null;
  const told = (share: Share | 'total'): number | null => {
    const value = hello.config?.[settingOf(share)];
    return typeof value === 'number' ? value : null;
  };
  const shares = Object.fromEntries(SHARES.map((share) => [share, told(share)])) as Record<
    Share,
    number | null
  >;
  shares.kv_cache ??= pool;
  const known = SHARES.reduce((sum, share) => sum + (shares[share] ?? 0), 0);
  return { shares, total: told('total'), known };
}
