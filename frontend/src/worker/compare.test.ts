import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import { Fold } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import type { PlainState } from '../ledger/plain';
import { CHANGED, compareSteps } from './compare';

const made = recording(24, 4, 11, 90);
const hello = { num_blocks: made.numBlocks, block_size: made.blockSize };

/** Whose each sequence is, by all that was ever told. */
function owners(): Map<number, number> {
  const fold = new Fold(made.numBlocks, made.blockSize);
  for (const record of made.records) fold.apply(record);
  return new Map([...fold.requests.memory.sequences].map(([sequence, { request }]) => [sequence, request]));
}

/** A life of a block that somebody holds: `request block#generation`. */
function held(state: PlainState, owner: Map<number, number>): Set<string> {
  return new Set(
    state.tables.map(([sequence, , , block]) => `${owner.get(sequence)} ${block}#${state.generation[block]}`),
  );
}

test('what differs between two states is counted as by hand, in both directions', async () => {
  const owner = owners();
  const steps = [...made.states.keys()];
  let seen = 0;
  for (const [from, to] of [
    [steps[5]!, steps[60]!],
    [steps[60]!, steps[5]!],
    [steps[30]!, steps[33]!],
    [steps[70]!, steps[70]!],
  ] as const) {
    const a = JSON.parse(made.states.get(from)!) as PlainState;
    const b = JSON.parse(made.states.get(to)!) as PlainState;
    const found = await compareSteps(from, to, hello, made.requests());
    expect(found.isVerified).toBe(true);
    const lives = (state: PlainState): string[] =>
      state.count.flatMap((count, block) => (count > 0 ? [`${block}#${state.generation[block]}`] : []));
    const labels = (state: PlainState): string[] =>
      state.content.flatMap((content, block) =>
        content === NONE ? [] : [`${block}#${state.generation[block]}=${content}`],
      );
    const without = (these: string[], others: string[]): number[] =>
      these.filter((each) => !others.includes(each)).map((each) => Number.parseInt(each, 10));
    const byHand = {
      allocated: without(lives(b), lives(a)),
      freed: without(lives(a), lives(b)),
      cached: without(labels(b), labels(a)),
      evicted: without(labels(a), labels(b)),
    };
    for (const kind of CHANGED) {
      expect(found.blocks[kind], kind).toEqual({
        count: byHand[kind].length,
        first: byHand[kind][0] ?? null,
      });
    }
    const [had, has] = [held(a, owner), held(b, owner)];
    const requests = new Set([...had, ...has].map((each) => Number.parseInt(each, 10)));
    const told = new Map(found.requests.map((each) => [each.request, each]));
    for (const request of requests) {
      const own = (these: Set<string>, others: Set<string>): number =>
        [...these].filter((each) => Number.parseInt(each, 10) === request && !others.has(each)).length;
      const { gained = 0, lost = 0 } = told.get(request) ?? {};
      expect([gained, lost], `request ${request}`).toEqual([own(has, had), own(had, has)]);
    }
    expect([...told.keys()].every((request) => requests.has(request))).toBe(true);
    seen += found.requests.length;
  }
  expect(seen).toBeGreaterThan(6);
});

test('a step that is not there is an error', async () => {
  const requests = { seek: async () => made.frames.slice(0, 3) };
  await expect(compareSteps(80, 81, hello, requests as never)).rejects.toThrow('no step 80');
});
