import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import { Fold } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import { Picture } from '../store/picture';
import { Changes } from './changes';
import { MapView } from './mapView';
import { OwnerOrder, Whose } from './order';
import { Packer } from './word';

const SIZE = 24;

/** By owner, found by comparing blocks with one another. */
function ordered(fold: Fold): number[] {
  const { count, content, ticket } = fold.blocks;
  const tables = [...fold.tables.map.values()].sort((a, b) => a.sequence - b.sequence || a.group - b.group);
  const place = (b: number): number[] => {
    for (const [at, { sequence, blocks, end }] of tables.entries()) {
      const position = blocks.subarray(0, end).indexOf(b);
      if (position >= 0) return [0, fold.requests.memory.requestOf(sequence), at, position];
    }
    if (count[b]! > 0) return [1, b];
    return [content[b] === NONE ? 3 : 2, Number.isNaN(ticket[b]!) ? Number.MAX_VALUE : ticket[b]!, b];
  };
  const compare = (a: number[], b: number[]): number => {
    const at = a.findIndex((each, i) => each !== b[i]);
    return at < 0 ? 0 : a[at]! - b[at]!;
  };
  const places = [...count.keys()].map(place);
  return [...count.keys()].sort((a, b) => compare(places[a]!, places[b]!));
}

function whoseIs({ blocks: { count, content }, tables, requests }: Fold, b: number): number {
  const list = [...tables.map.values()].sort((x, y) => x.sequence - y.sequence);
  const holder = list.find(({ blocks, end }) => blocks.subarray(0, end).includes(b));
  if (holder !== undefined) return requests.memory.requestOf(holder.sequence);
  if (count[b]! > 0) return Whose.pinned;
  return content[b] === NONE ? Whose.free : Whose.cached;
}

test('by owner, requests lie one after the other, then what is pinned, cached, and free', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(29), (seed, last) => {
      const fold = new Fold(SIZE, 4);
      for (const record of recording(SIZE, 4, seed, 30).records) {
        if (record.type === 'step' && record.step > last) break;
        fold.apply(record);
      }
      const order = new OwnerOrder(SIZE);
      expect(order.due(fold, true, 0)).toBe(0);
      order.make(fold);
      expect([...order.blockAt]).toEqual(ordered(fold));
      expect([...order.blockAt].map((b) => order.cellOf[b])).toEqual([...order.blockAt.keys()]);
      expect(order.due(fold, true, performance.now())).toBe(null);
      const whose = [...order.blockAt].map((b) => whoseIs(fold, b));
      const starts = [...whose.keys()].filter((cell) => cell === 0 || whose[cell] !== whose[cell - 1]);
      expect([...order.groups]).toEqual(starts.flatMap((cell) => [cell, whose[cell]]));
    }),
    { numRuns: 8 },
  );
});

test('while the view goes on by itself an order lasts for a while', () => {
  const { records } = recording(SIZE, 4, 1, 20);
  const fold = new Fold(SIZE, 4);
  const order = new OwnerOrder(SIZE);
  fold.apply(records[0]!);
  order.make(fold);
  for (const record of records.slice(1)) fold.apply(record);
  const now = performance.now();
  expect(order.due(fold, false, now)).toBeGreaterThan(100);
  expect(order.due(fold, false, now + 1000)).toBe(0);
});

test('the page has the words of the blocks that lie in its cells, through any changes of order and state', () => {
  fc.assert(
    fc.property(
      fc.nat(1000),
      fc.array(fc.tuple(fc.nat(29), fc.constantFrom('number', 'owner')), { minLength: 1, maxLength: 8 }),
      (seed, ways) => {
        const { records } = recording(SIZE, 4, seed, 30);
        const fold = new Fold(SIZE, 4);
        const [changes, picture, packer] = [new Changes(SIZE, 4), new Picture(), new Packer(4)];
        const session = { fold, changes, mode: 'at', history: { get: () => undefined } };
        const view = new MapView(session as never, { want() {} } as never);
        picture.reset(SIZE);
        fold.apply(records[0]!);
        for (const [to, order] of ways) {
          while (fold.step < to && fold.record + 1 < records.length) {
            fold.apply(records[fold.record + 1]!);
            changes.add(fold.blocks);
          }
          while (fold.step > to) {
            fold.undo(records[fold.record]!);
            changes.add(fold.blocks);
          }
          view.arrange(order);
          const glows = Uint32Array.of(seed % SIZE);
          const { map } = view.changed({ changed: glows, filled: new Uint32Array(0) }, null, 1e9);
          if (map !== null) picture.apply(map, true, true);
          const blocks = [...new Array(SIZE).keys()];
          expect(blocks.map((b) => picture.wordOf(b))).toEqual(
            blocks.map((b) => packer.word(fold.blocks, b)),
          );
          expect(blocks.map((cell) => picture.blockAt(cell))).toEqual(
            order === 'owner' ? ordered(fold) : blocks,
          );
          for (const b of blocks) expect(picture.blockAt(picture.cellOf(b))).toBe(b);
          const lit = blocks.filter((b) => picture.glow[picture.cellOf(b)]! > 0);
          if (map !== null) expect(lit).toContain(seed % SIZE);
        }
      },
    ),
    { numRuns: 8 },
  );
});

test('places and colours are of one and the same state, while the view goes on by itself too', () => {
  const { records } = recording(SIZE, 4, 3, 60);
  const fold = new Fold(SIZE, 4);
  const [changes, picture, packer] = [new Changes(SIZE, 4), new Picture(), new Packer(4)];
  const session = { fold, changes, mode: 'play', history: { get: () => undefined } };
  const view = new MapView(session as never, { want() {} } as never);
  picture.reset(SIZE);
  view.arrange('owner');
  const blocks = [...new Array(SIZE).keys()];
  const shown: number[] = [];
  for (const [i, record] of records.entries()) {
    fold.apply(record);
    changes.add(fold.blocks);
    // As long after the last order as a step takes to come, and again from there.
    const { map } = view.changed(null, null, performance.now() + (i % 8) * 60);
    if (map === null) continue;
    shown.push(fold.step);
    picture.apply(map, false, true);
    expect(blocks.map((cell) => picture.blockAt(cell))).toEqual(ordered(fold));
    expect(blocks.map((b) => picture.wordOf(b))).toEqual(blocks.map((b) => packer.word(fold.blocks, b)));
  }
  expect(shown.length).toBeGreaterThan(5);
  expect(shown.length).toBeLessThan(records.length / 4);
  // It stands: the picture of the place is there at once.
  session.mode = 'at';
  const later = performance.now() + 1e6;
  expect(view.hasPicture(later)).toBe(true);
  view.changed(null, null, later);
  expect(view.hasPicture(later)).toBe(false);
});

test('what glows takes its glow with it to its new cell', () => {
  const picture = new Picture();
  picture.reset(4);
  const change = {
    full: null,
    blocks: new Uint32Array(0),
    words: new Uint32Array(0),
    faint: new Uint32Array(0),
  };
  const quiet = { ...change, jump: false, colouring: 'state', arrangement: null } as const;
  picture.apply({ ...quiet, glow: Uint32Array.of(1) }, false, true);
  const arrangement = {
    blockAt: Uint32Array.of(3, 2, 0, 1),
    cellOf: Uint32Array.of(2, 3, 1, 0),
    groups: new Uint32Array(0),
  };
  picture.apply({ ...quiet, glow: new Uint32Array(0), arrangement }, false, true);
  expect([...picture.glow].map((glow) => glow > 0)).toEqual([false, false, false, true]);
  expect([...picture.lit()]).toEqual([3]);
});
