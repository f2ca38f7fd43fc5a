import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import { decodeOperations } from '../ledger/columns';
import { type AnyRecord, Fold } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import { Picture } from '../store/picture';
import { Changes } from './changes';
import { Shader } from './shader';
import { COLOURINGS, EDGES, Owner, ownerShade, type Scaled, UNKNOWN_SHADE } from './shades';
import { shadeOf } from './word';

const SHADED = COLOURINGS.filter((each) => each !== 'state');
const SIZE = 20;

/** What each block has of what the map is coloured by, found by looking at everything; null: nothing. */
function valuesOf(colouring: Scaled, fold: Fold, records: readonly AnyRecord[]): (number | null)[] {
  const { count, hits, ticket, content } = fold.blocks;
  const all = [...count.keys()];
  const depth = (at: number): number => (at === NONE ? 0 : 1 + depth(fold.contents.parent(at)!));
  switch (colouring) {
    case 'refs':
      return [...count];
    case 'hits':
      return [...hits];
    case 'queue': {
      const queued = all.filter((b) => !Number.isNaN(ticket[b]!)).sort((a, b) => ticket[a]! - ticket[b]!);
      return all.map((b) => (queued.includes(b) ? queued.indexOf(b) + 1 : null));
    }
    case 'depth':
      return [...content].map(depth);
    case 'recency': {
      const last = new Map<number, number>();
      for (const record of records.slice(0, fold.record + 1)) {
        if (record.type !== 'step') continue;
        const { block, source } = decodeOperations(record.operations);
        for (const b of [...block, ...source]) last.set(b, record.step);
      }
      return all.map((b) => fold.step - (last.get(b) ?? Number.NEGATIVE_INFINITY));
    }
  }
}

function ownersOf(fold: Fold, selected: number): number[] {
  return [...fold.blocks.count].map((count, b) => {
    const holders = [...fold.tables.map.values()].filter((table) => table.blocks.includes(b));
    const first = Math.min(...holders.map(({ sequence }) => sequence));
    const request = fold.requests.memory.requestOf(first);
    if (holders.length > 0) return request === selected ? Owner.selected : ownerShade(request);
    return count > 0 ? Owner.pinned : fold.blocks.content[b] === NONE ? Owner.free : Owner.cached;
  });
}

const shadeIn = (edges: readonly number[], value: number | null): number =>
  value === null ? 0 : edges.filter((edge) => edge <= value).length;

test('shades are those of the state, wherever the fold came from, and so is what the page has of them', () => {
  fc.assert(
    fc.property(
      fc.nat(1000),
      fc.array(fc.record({ to: fc.nat(79), colouring: fc.constantFrom(...SHADED) }), { maxLength: 12 }),
      (seed, ways) => {
        const made = recording(SIZE, 4, seed, 80);
        const history = { get: (record: number) => made.frames[record] };
        const fold = new Fold(SIZE, 4);
        const [shader, changes, picture] = [new Shader(SIZE, history), new Changes(SIZE, 4), new Picture()];
        picture.reset(SIZE);
        fold.apply(made.records[0]!);
        for (const { to, colouring } of ways) {
          while (fold.step < to && fold.record + 1 < made.records.length) {
            fold.apply(made.records[fold.record + 1]!);
            changes.add(fold.blocks);
          }
          while (fold.step > to) {
            fold.undo(made.records[fold.record]!);
            changes.add(fold.blocks);
          }
          const selected = seed % 7;
          const { tally, owners } = shader.shade(fold, colouring, selected);
          const expected =
            colouring === 'owner'
              ? ownersOf(fold, selected)
              : valuesOf(colouring, fold, made.records).map((value) => shadeIn(EDGES[colouring], value));
          expect([colouring, ...shader.shades]).toEqual([colouring, ...expected]);
          if (colouring !== 'owner')
            expect([...tally]).toEqual(
              [...tally.keys()].map((at) => expected.filter((e) => e === at).length),
            );
          for (const { request, blocks } of owners) {
            const shade = request === selected ? Owner.selected : ownerShade(request);
            expect(blocks).toBe(expected.filter((each) => each === shade).length);
          }
          picture.apply(changes.takeShaded(fold.blocks, null, colouring, shader.shades), false, true);
          expect(Array.from(picture.words, shadeOf)).toEqual(expected);
          expect(picture.colouring).toBe(colouring);
        }
      },
    ),
    { numRuns: 12 },
  );
});

test('how long ago is not told of blocks for which the records here do not reach back, until they do', () => {
  const made = recording(SIZE, 4, 3, 80);
  const first = made.records.findIndex((record) => record.type === 'step' && record.step === 70);
  let from = first;
  const history = { get: (record: number) => (record >= from ? made.frames[record] : undefined) };
  const fold = new Fold(SIZE, 4);
  for (const record of made.records) fold.apply(record);
  const shader = new Shader(SIZE, history);
  shader.shade(fold, 'recency', null);
  const told = [...shader.shades];
  expect(shader.isShort).toBe(true);
  expect(told).toContain(UNKNOWN_SHADE);
  from = 0;
  shader.shade(fold, 'recency', null);
  expect(shader.isShort).toBe(false);
  const all = valuesOf('recency', fold, made.records).map((value) => shadeIn(EDGES.recency, value));
  expect([...shader.shades]).toEqual(all);
  for (const [b, shade] of told.entries()) if (shade !== UNKNOWN_SHADE) expect(shade).toBe(all[b]);
});
