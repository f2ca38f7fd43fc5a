/** What is said of the device's memory. */

export const memory = {
  title: 'Device memory',
  told: 'From the allocator’s own figures, when the engine began',
  shares: {
    weights: 'weights',
    kv_cache: 'KV pool',
    activations: 'activations',
    graphs: 'CUDA graphs',
    other: 'other',
    free: 'free',
  },
  titles: {
    weights: 'The model’s parameters',
    kv_cache: 'Keys and values: the blocks of the map',
    activations: 'What the largest step takes at its peak, as a run at the start measured it',
    graphs: 'Decodes that were recorded as CUDA graphs',
    other: 'Code of kernels, workspaces of libraries, and whoever else is on the device',
    free: 'What nobody has',
  },
  notTold: 'not told',
  total: 'all',
  none: 'None: this runner has no tensors, its blocks are numbers.',
  part: (name: string, size: string, share: string) => `${name}: ${size}, ${share}`,
} as const;
