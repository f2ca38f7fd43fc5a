import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Blocks } from '../ledger/blocks';
import { NONE } from '../ledger/generated/constants';
import { Picture } from '../store/picture';
import { Changes } from './changes';
import { classOf, countOf, filledOf, hasContent, Packer } from './word';

const SIZE = 64;
const BLOCK_SIZE = 16;

function words(values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

/** The columns of a keyframe: each block free, cached, active or shared by three. */
function columns(states: readonly number[]) {
  return {
    count: words(states.map((state) => [0, 0, 1, 3][state]!)),
    content: words(states.map((state, b) => (state === 1 ? b : NONE))),
    filled: words(
      states.map((state, b) => (state === 1 ? BLOCK_SIZE : state === 0 ? 0 : (b % BLOCK_SIZE) + 1)),
    ),
  };
}

const states = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: SIZE, maxLength: SIZE });

describe('changes', () => {
  it('of another state are what differs, and give the picture of that state', () => {
    fc.assert(
      fc.property(
        fc.array(states, { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 0, max: 8 }),
        (list, few) => {
          const blocks = new Blocks(SIZE);
          const changes = new Changes(SIZE, BLOCK_SIZE);
          const picture = new Picture();
          picture.reset(SIZE);
          const packer = new Packer(BLOCK_SIZE);
          let before: readonly number[] = new Array(SIZE).fill(0);
          for (const next of list) {
            // A near state, then a far one.
            for (const state of [before.map((each, b) => (b < few ? next[b]! : each)), next]) {
              blocks.load(columns(state));
              changes.all();
              const change = changes.take(blocks, null);
              const told = change.full === null ? change.blocks.length : SIZE;
              if (told < SIZE) expect(told).toBe(state.filter((each, b) => each !== before[b]).length);
              picture.apply(change, true, true);
              expect(Array.from(picture.words)).toEqual(state.map((_, b) => packer.word(blocks, b)));
              before = state;
            }
          }
        },
      ),
    );
  });

  it('after a jump leave no glow of before', () => {
    const picture = new Picture();
    picture.reset(SIZE);
    const change = (glow: number[], jump: boolean) => ({
      full: null,
      blocks: new Uint32Array(0),
      words: new Uint32Array(0),
      glow: Uint32Array.from(glow),
      faint: new Uint32Array(0),
      jump,
      colouring: 'state' as const,
      arrangement: null,
    });
    const lit = (): number[] => [...new Array(SIZE).keys()].filter((b) => picture.glow[b]! > 0);
    picture.apply(change([1, 2], true), true, true);
    // Long after, what the present step changed is still to be seen, and is when it jumps from there.
    picture.tick(performance.now() + 60_000);
    expect(picture.glowing).toBe(false);
    picture.apply(change([3], false), true, true);
    expect(lit()).toEqual([1, 2, 3]);
    picture.apply(change([2, 9], true), true, true);
    expect(lit()).toEqual([2, 9]);
    picture.apply(change([], true), true, true);
    expect(lit()).toEqual([]);
  });

  it('are packed alike one by one and all at once', () => {
    const blocks = new Blocks(4);
    blocks.load({
      count: words([0, 1, 5000, 0]),
      content: words([NONE, NONE, NONE, 7]),
      filled: words([0, 5, 40, 16]),
    });
    const packer = new Packer(BLOCK_SIZE);
    const all = new Uint32Array(4);
    expect(packer.update(blocks, all, new Uint32Array(4))).toBe(3);
    expect(Array.from(all)).toEqual([0, 1, 2, 3].map((b) => packer.word(blocks, b)));
    expect(Array.from(all, classOf)).toEqual([0, 2, 3, 1]);
    expect(Array.from(all, countOf)).toEqual([0, 1, 1023, 0]);
    expect(Array.from(all, hasContent)).toEqual([false, false, false, true]);
    expect(Array.from(all, filledOf)).toEqual([0, Math.round((5 * 127) / 16) / 127, 1, 1]);
  });
});
