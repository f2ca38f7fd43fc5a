import { expect, test } from 'vitest';
import type { Hello } from '../ledger/generated/types';
import { deviceMemoryOf } from './deviceMemory';

const hello = (kv_bytes_per_block: number, config: Hello['config'] = {}): Hello =>
  ({ num_blocks: 100, block_size: 16, kv_bytes_per_block, config }) as Hello;

test('of a card all of it is told', () => {
  const config = {
    memory_total_bytes: 10_000,
    memory_weights_bytes: 5000,
    memory_kv_cache_bytes: 3000,
    memory_activations_bytes: 700,
    memory_graphs_bytes: 0,
    memory_other_bytes: 300,
    memory_free_bytes: 1000,
  };
  const told = deviceMemoryOf(hello(30, config))!;
  expect(told.shares).toEqual({
    weights: 5000,
    kv_cache: 3000,
    activations: 700,
    graphs: 0,
    other: 300,
    free: 1000,
  });
  expect([told.total, told.known]).toEqual([10_000, 10_000]);
});

test('what is not told stays unknown, also of an engine that tells only how large its blocks are', () => {
  const cpu = deviceMemoryOf(
    hello(30, { memory_weights_bytes: 5000, memory_kv_cache_bytes: 3000, memory_free_bytes: null }),
  )!;
  expect(cpu.shares).toMatchObject({ weights: 5000, kv_cache: 3000, activations: null, free: null });
  expect([cpu.total, cpu.known]).toEqual([null, 8000]);
  const old = deviceMemoryOf(hello(30))!;
  expect(old.shares).toMatchObject({ weights: null, kv_cache: 3000 });
  expect([old.total, old.known]).toEqual([null, 3000]);
});

test('blocks without tensors take no memory of a device', () => {
  expect(deviceMemoryOf(hello(0, { memory_total_bytes: null }))).toBe(null);
});
