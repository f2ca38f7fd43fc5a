import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differenceSince } from '../../tests/difference';
import { recording } from '../../tests/recording';
import { Blocks } from './blocks';
import type { Base } from './difference';
import { Fold } from './fold';
import type { BlockColumns, Keyframe } from './generated/types';
import { LARGE } from './kernels';
import { plainState } from './plain';

const baseOf = ({ record, blocks = {} }: Keyframe): Base => ({ record, columns: blocks });

function keyframesOf(seed: number): Keyframe[] {
  const { records } = recording(20, 4, seed, 60);
  return records.filter((each) => each.type === 'keyframe');
}

describe('a keyframe that tells what changed since another', () => {
  test('gives the state that the whole one gives, whatever was here before', () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(), fc.nat(), (seed, i, j) => {
        const keyframes = keyframesOf(seed);
        const [base, keyframe] = [keyframes[i % keyframes.length]!, keyframes[j % keyframes.length]!];
        const whole = new Fold(20, 4);
        expect(whole.load(keyframe)).toEqual([]);
        const told = new Fold(20, 4);
        told.load(keyframes[0]!);
        expect(told.load(differenceSince(base, keyframe, 20), baseOf(base))).toEqual([]);
        expect(told.verified).toBe(true);
        expect(plainState(told)).toEqual(plainState(whole));
        expect(told.blocks.hits).toEqual(whole.blocks.hits);
        expect([...told.blocks.tally]).toEqual([...whole.blocks.tally]);
      }),
    );
  });

  test('is a fault by its digest where it is laid over another state', () => {
    const [other, keyframe] = keyframesOf(3);
    const nothing = differenceSince(keyframe!, keyframe!, 20);
    expect(nothing.changed).toHaveLength(0);
    const fold = new Fold(20, 4);
    expect(fold.load(nothing, baseOf(keyframe!))).toEqual([]);
    const found = fold.load(nothing, { record: keyframe!.record, columns: other!.blocks ?? {} });
    expect(found[0]?.kind).toBe('digest');
    expect(fold.verified).toBe(false);
    expect(fold.violation?.message).toContain('blocks');
  });

  test('is refused without its base, with another one, and among records', () => {
    const [first, base, keyframe] = keyframesOf(3);
    const difference = differenceSince(base!, keyframe!, 20);
    const fold = new Fold(20, 4);
    fold.load(first!);
    const before = JSON.stringify(plainState(fold));
    const since = `since record ${base!.record}`;
    expect(() => fold.load(difference)).toThrow(`${since}; nothing was kept of that`);
    expect(() => fold.load(difference, baseOf(first!))).toThrow(
      `${since}; what is here is that of record ${first!.record}`,
    );
    expect(() => fold.apply(difference)).toThrow(`only what changed ${since} is no record`);
    expect(() => new Fold(20, 4).apply(difference)).toThrow('is no record');
    expect(JSON.stringify(plainState(fold))).toBe(before);
  });

  test('is refused with blocks that do not ascend or are not there, and columns of another length', () => {
    const [base, keyframe] = keyframesOf(3);
    const difference = differenceSince(base!, keyframe!, 20);
    const load = (changed: number[]): void => {
      const raw = new Uint8Array(Uint32Array.from(changed).buffer);
      new Fold(20, 4).load({ ...difference, changed: raw }, baseOf(base!));
    };
    expect(() => load([1, 3, 3])).toThrow("'changed' names block 3 behind 3: it ascends, in a pool of 20");
    expect(() => load([1, 20])).toThrow("'changed' names block 20 behind 1");
    expect(() => load([7])).toThrow('1 blocks have 1, 2, 4');
  });
});

test('a large pool has the sums and classes of all blocks, of those that changed and of the others', () => {
  const size = LARGE + 3;
  const dice = (b: number, salt: number): number => Math.imul(b + salt, 2654435761) >>> 0;
  const columns = (salt: number, part: number): BlockColumns => {
    const make = (of: number) => (_: unknown, b: number) =>
      dice(b, 99) % part === 0 ? dice(b, salt + of) % 250 : dice(b, of) % 250;
    const wide = Uint32Array.from({ length: size }, make(1));
    return {
      generation: new Uint8Array(Uint16Array.from(wide).buffer),
      count: Uint8Array.from(wide, (value) => value % 3),
      ticket: new Uint8Array(Int32Array.from({ length: size }, make(2)).buffer),
      content: new Uint8Array(wide.map((value) => value << 10).buffer),
      filled: Uint8Array.from({ length: size }, make(3)),
      hits: new Uint8Array(size),
    };
  };
  const base = { record: 5, blocks: columns(0, 1) } as Keyframe;
  const keyframe = { record: 9, blocks: columns(7, 5) } as Keyframe;
  const difference = differenceSince(base, keyframe, size);
  const changed = new Uint32Array(difference.changed!.slice().buffer);
  expect(changed.length).toBeGreaterThan(1000);
  expect(changed.length).toBeLessThan(size);
  const [whole, told] = [new Blocks(size), new Blocks(size)];
  whole.load(keyframe.blocks!);
  told.loadOver(base.blocks!, changed, difference.blocks!);
  expect([told.sumA, told.sumB, ...told.tally]).toEqual([whole.sumA, whole.sumB, ...whole.tally]);
});
