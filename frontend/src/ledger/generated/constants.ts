// Generated from the Python package kvarium_ledger by `make types`. Do not edit.

export const VERSION = 2;

export const NONE = 4294967295;

export const Operation = {
  allocate: 1,
  evict: 2,
  reuse: 3,
  share: 4,
  copy: 5,
  fill: 6,
  cache: 7,
  release: 8,
  free: 9,
} as const;

export const Cause = {
  prefill: 0,
  decode: 1,
  reserve: 2,
  allocate: 3,
  reset: 4,
  failed_step: 5,
  unscheduled: 6,
  fork: 7,
  prefix_hit: 8,
  write: 9,
  full: 10,
  finished: 11,
  aborted: 12,
  preempted: 13,
  dropped: 14,
  copy_launch: 15,
  refused: 16,
  foreign: 17,
} as const;

export const Pin = {
  copy_source: 0,
  null_block: 1,
  transfer: 2,
} as const;

export const STATE_CODES = {
  waiting: 0,
  running: 1,
  preempted: 2,
} as const;

export const COLUMN_TYPES = {
  kind: "u8",
  block: "u32",
  cause: "u8",
  sequence: "u32",
  position: "u32",
  group: "u8",
  pin: "u8",
  ticket: "f64",
  filled_before: "u32",
  filled_after: "u32",
  source: "u32",
  content: "u32",
  hits: "u32",
} as const;

export const CARRIED_BY = {
  kind: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  block: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  cause: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  sequence: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  position: [1, 3, 4, 5, 8, 9],
  ticket: [1, 3, 5, 9],
  filled_before: [1, 5, 6],
  filled_after: [5, 6],
  source: [5],
  content: [2, 7],
  hits: [2],
} as const;

export const MULTIPLIERS = [[2654435761, 2246822519, 3266489917, 668265263, 374761393, 3605593785, 2781581891], [4283543511, 3301882367, 3029513839, 2598464059, 3377055711, 2252921819, 3535225863]] as const;

export const SALTS = {
  blocks: [608135816, 2242054355],
  tables: [320440878, 57701188],
  requests: [2752067618, 698298832],
} as const;
