import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AnyRecord } from '../ledger/fold';
import { NONE } from '../ledger/generated/constants';
import { RequestMemory } from '../ledger/requests';
import { Texts } from './texts';
import type { Told } from './told';

const FACTS = { name: 'q7', prompt_tokens: 2, max_tokens: 9, n: 1, priority: 0, lora_name: 'sql' };
const TOLD: Told = {
  request: 7,
  record: 40,
  submitted: 3,
  facts: FACTS,
  ending: { record: 40, step: 20, kind: 'finished', reason: 'length', message: null },
  prompt: [5, 6],
  text: null,
  why: null,
  gaps: [],
  sequences: [],
};

/** Texts behind a server that knows of a request from its `from`-th answer on. */
function texts(from: number, recorded = true) {
  const memory = new RequestMemory();
  const asked: number[] = [];
  const changed = vi.fn();
  const server = {
    transcript: (request: number) => {
      asked.push(request);
      return asked.length >= from ? Promise.resolve(TOLD) : Promise.reject(new Error('404'));
    },
    pieces: () => Promise.reject(new Error('not asked for')),
    contents: () => Promise.reject(new Error('not asked for')),
  };
  return { texts: new Texts(recorded, 16, memory, server, changed), memory, asked, changed };
}

describe('the parent of a content that a seek left out', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Texts behind a server that tells a content from its `from`-th answer on; 5 is the first of a prompt. */
  function parents(from: number) {
    const asked: number[][] = [];
    const contents = async (ids: readonly number[]) => {
      asked.push([...ids]);
      if (asked.length < from) return [];
      return ids.map((content) => ({ content, parent: content === 5 ? null : content - 1, tokens: null }));
    };
    const never = () => Promise.reject(new Error('not asked for'));
    const server = { contents, transcript: never, pieces: never };
    // No text is recorded here: who the parent is, is.
    return { texts: new Texts(false, 16, new RequestMemory(), server, () => {}), asked };
  }

  test('is asked for once, by whoever looks', async () => {
    const { texts: made, asked } = parents(1);
    expect([made.parent(8), made.parent(8), made.parent(5)]).toEqual([null, null, null]);
    await vi.advanceTimersByTimeAsync(1);
    expect([made.parent(8), made.parent(5)]).toEqual([7, NONE]);
    expect(asked).toEqual([[8], [5]]);
  });

  test('is asked for again while the index lags, and not for ever', async () => {
    for (const [from, found, times] of [
      [3, 7, 3],
      [Number.POSITIVE_INFINITY, null, 5],
    ] as const) {
      const { texts: made, asked } = parents(from);
      for (let passed = 0; passed < 10_000; passed += 100) {
        made.parent(8);
        await vi.advanceTimersByTimeAsync(100);
      }
      expect(made.parent(8)).toBe(found);
      expect(asked.length).toBe(times);
    }
  });
});

describe('a request that nothing here has told of', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Look at request 7, again and again, for a while. */
  async function look(at: Texts, ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      at.wantUnknown(7);
      await vi.advanceTimersByTimeAsync(100);
    }
  }

  test('is asked for when it is still unknown a moment later, and then known', async () => {
    const { texts: made, memory, asked, changed } = texts(1);
    await look(made, 600);
    expect(asked).toEqual([]);
    await look(made, 300);
    expect(asked).toEqual([7]);
    expect(changed).toHaveBeenCalled();
    expect(memory.facts.get(7)).toMatchObject({ name: 'q7', loraName: 'sql', beamWidth: null });
    expect(made.transcripts.newest).toBe(7);
  });

  test('is asked for again while the index lags, with pauses', async () => {
    const { texts: made, memory, asked } = texts(3);
    await look(made, 1500);
    expect(asked.length).toBeLessThanOrEqual(2);
    expect(memory.facts.has(7)).toBe(false);
    await look(made, 1500);
    expect(memory.facts.has(7)).toBe(true);
  });

  test('is not asked for for ever', async () => {
    const { texts: made, asked } = texts(Number.POSITIVE_INFINITY);
    await look(made, 30_000);
    expect(asked.length).toBe(5);
  });

  test('is not asked for where no text is recorded', async () => {
    const { texts: made, asked } = texts(1, false);
    await look(made, 2000);
    expect(asked).toEqual([]);
  });
});

describe('what stands in records on the way to a place', () => {
  const text = (record: number, token: number) =>
    ({
      type: 'text',
      record,
      step: record,
      pieces: { token: new Uint8Array(Uint32Array.of(token).buffer), piece: [`piece ${token}`] },
    }) as AnyRecord;
  const keyframe = { type: 'keyframe', record: 9 } as AnyRecord;

  test('is noted once the view is there, in its order, before what comes then', () => {
    const { texts: made } = texts(1);
    made.note(text(1, 1), true);
    made.note(text(2, 2), true);
    expect([...made.pieces.keys()]).toEqual([]);
    made.note(text(3, 3));
    expect([...made.pieces.keys()]).toEqual([1, 2, 3]);
    made.note(text(4, 4), true);
    made.catchUp();
    expect([...made.pieces.keys()]).toEqual([1, 2, 3, 4]);
  });

  test('is left out where the view was sent elsewhere before, and noted at once while somebody reads', () => {
    const { texts: made } = texts(1);
    made.note(text(1, 1), true);
    made.note(keyframe, true);
    made.note(text(2, 2), true);
    made.catchUp();
    expect([...made.pieces.keys()]).toEqual([2]);
    made.isRead = true;
    made.note(text(3, 3), true);
    expect([...made.pieces.keys()]).toEqual([2, 3]);
  });
});
