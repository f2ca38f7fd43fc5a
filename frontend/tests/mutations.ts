/**
 * Frames with something in them changed, and their checksum made right again: the twin of `tests/backend/frame_mutations.py`.
 *
 * What may be changed is read off the record itself and off the schema of all of them, so that new fields are changed, too.
 */

import { decode, encode } from '@msgpack/msgpack';
import { buf as crc32 } from 'crc-32';
import schema from '../src/ledger/generated/schema.json';

export type Random = () => number;
type Tree = Record<string, unknown>;

/** A generator of numbers in [0, 1) (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function below(random: Random, end: number): number {
  return Math.floor(random() * end);
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[below(random, from.length)]!;
}

const STRANGE: readonly unknown[] = [
  ...[null, true, -1, 0, 1, 256, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 60, -(2 ** 60)],
  ...[
    0.5,
    -1.5,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    'x',
    '__proto__',
    'waiting',
    [],
    [null],
    {},
  ],
  ...[new Uint8Array(0), new Uint8Array(1), new Uint8Array(8).fill(255), new Uint8Array(4096)],
  ...[{ type: 'step' }, { kind: 'token' }],
];

const FIELDS = [
  ...new Set(
    Object.values(schema.$defs as Record<string, { properties?: object }>).flatMap((each) =>
      Object.keys(each.properties ?? {}),
    ),
  ),
];

function isMap(value: unknown): value is Tree {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function* maps(value: unknown): Generator<Tree> {
  if (isMap(value)) yield value;
  if (isMap(value) || Array.isArray(value)) for (const each of Object.values(value)) yield* maps(each);
}

const TREES: Record<string, (tree: Tree, random: Random) => void> = {
  strangeValue(tree, random) {
    const found = pick(random, [...maps(tree)]);
    const keys = Object.keys(found);
    if (keys.length > 0) found[pick(random, keys)] = structuredClone(pick(random, STRANGE));
  },
  foreignField(tree, random) {
    const every = [...maps(tree)];
    const other = Object.values(pick(random, every));
    const value = other.length > 0 && random() < 0.5 ? pick(random, other) : pick(random, STRANGE);
    pick(random, every)[pick(random, FIELDS)] = structuredClone(value);
  },
  missingField(tree, random) {
    const found = pick(random, [...maps(tree)]);
    const keys = Object.keys(found);
    if (keys.length > 0) delete found[pick(random, keys)];
  },
  swappedFields(tree, random) {
    const found = pick(random, [...maps(tree)]);
    const keys = Object.keys(found);
    if (keys.length < 2) return;
    const [one, two] = [pick(random, keys), pick(random, keys)];
    [found[one], found[two]] = [structuredClone(found[two]), found[one]];
  },
  changedColumn(tree, random) {
    const places = [...maps(tree)].flatMap((map) =>
      Object.entries(map).flatMap(([name, value]) =>
        value instanceof Uint8Array ? [{ map, name, value }] : [],
      ),
    );
    if (places.length === 0) return;
    const { map, name, value } = pick(random, places);
    const width = pick(random, [1, 4, 8]);
    const number = BigInt(pick(random, [0, 1, 7, 200, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1]));
    const added = new Uint8Array(new BigUint64Array([number]).buffer, 0, width);
    if (value.length >= width && random() < 0.7) {
      const changed = value.slice();
      changed.set(added, below(random, Math.floor(value.length / width)) * width);
      map[name] = changed;
    } else {
      const longer = new Uint8Array(value.length + width);
      longer.set(value);
      longer.set(added, value.length);
      map[name] = pick(random, [longer, value.slice(0, -width), value.slice().reverse()]);
    }
  },
  unknownOperation(tree, random) {
    const kind = (tree.operations as { kind?: Uint8Array } | undefined)?.kind;
    if (kind !== undefined && kind.length > 0) {
      const changed = kind.slice();
      changed[0] = pick(random, [0, 10, 200, 255]);
      (tree.operations as Tree).kind = changed;
    }
  },
};

const BODIES: Record<string, (body: Uint8Array, random: Random) => Uint8Array> = {
  flippedBits(body, random) {
    for (let left = pick(random, [1, 1, 4, 30]); left > 0; left--) {
      body[below(random, body.length)]! ^= 1 << below(random, 8);
    }
    return body;
  },
  overwritten(body, random) {
    const heads = [
      [0xdf, 0xff, 0xff, 0xff, 0xff],
      [0xdd, 0x7f, 0xff, 0xff, 0xff],
      [0xc6, 0x0f, 0xff, 0xff, 0xff],
    ];
    const head = pick(random, heads);
    body.set(head.slice(0, body.length), below(random, Math.max(1, body.length - head.length)));
    return body;
  },
  truncated: (body, random) => body.slice(0, 1 + below(random, body.length)),
  nested(body, random) {
    const deep = pick(random, [100, 3000, 200_000]);
    const longer = new Uint8Array(body.length + 2 + deep + 1);
    longer.set(body);
    if (longer[0]! >= 0x80 && longer[0]! < 0x8f) longer[0]!++;
    longer.set([0xa1, 0x7a], body.length);
    longer.fill(0x91, body.length + 2);
    longer[longer.length - 1] = 0xc0;
    return longer;
  },
};

/** A changed frame, and what was done to it. */
export function mutate(frame: Uint8Array, random: Random): { what: string; frame: Uint8Array } {
  let body = frame.slice(0, -4);
  const ways = random() < 0.4 ? BODIES : TREES;
  const what = pick(random, Object.keys(ways));
  if (ways === BODIES) body = BODIES[what]!(body, random) as Uint8Array<ArrayBuffer>;
  else {
    const tree = decode(body) as Tree;
    TREES[what]!(tree, random);
    body = encode(tree);
  }
  const made = new Uint8Array(body.length + 4);
  made.set(body);
  new DataView(made.buffer).setUint32(body.length, crc32(body) >>> 0, true);
  return { what, frame: made };
}
