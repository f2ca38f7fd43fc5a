import { expect, test } from 'vitest';
import { Contents } from '../ledger/contents';
import { sealFrame } from '../ledger/frame';
import { NONE } from '../ledger/generated/constants';
import type { Keyframe } from '../ledger/generated/types';
import { Lineage } from './lineage';

const column = (...values: number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);

function answer(): Uint8Array[] {
  const contents = { content: column(4, 7), parent: column(2, 4) };
  const digest = { blocks: column(0, 0), tables: column(0, 0), requests: column(0, 0) };
  const keyframe = { type: 'keyframe', record: 9, step: 3, op: 20, time: 0, utc_us: 0, digest, contents };
  return [sealFrame(keyframe as unknown as Keyframe)];
}

/** Wait until something was said to have changed so often. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const many = new Set(Array.from({ length: 201 }, (_, content) => content + 4));

test('where many are missing, all is asked for once a step, and not while an answer is on its way', async () => {
  const contents = new Contents();
  const steps: number[] = [];
  let changes = 0;
  const lineage = async (step: number): Promise<Uint8Array[]> => {
    steps.push(step);
    return answer();
  };
  const asked = new Lineage(contents, { lineage, contents: async () => [] }, () => changes++);
  asked.want(3, new Set());
  asked.want(3, many);
  asked.want(5, many);
  await until(() => changes > 0);
  expect([contents.parent(7), contents.parent(4)]).toEqual([4, 2]);
  await until(() => changes > 1);
  asked.want(3, many);
  expect(steps).toEqual([3]);
  asked.want(5, many);
  expect(steps).toEqual([3, 5]);
});

test('where some are missing, they are asked for by their ids, once', async () => {
  const contents = new Contents();
  const asked: (readonly number[])[] = [];
  let changes = 0;
  const lineage = new Lineage(
    contents,
    {
      lineage: () => Promise.reject(new Error('not asked for')),
      contents: async (ids) => {
        asked.push(ids);
        return [
          { content: 6, parent: 2, tokens: null },
          { content: 9, parent: null, tokens: null },
          { content: 11, tokens: null },
        ];
      },
    },
    () => changes++,
  );
  lineage.want(3, new Set([6, 9, 11]));
  await until(() => changes > 1);
  expect([6, 9, 11].map((content) => contents.parent(content))).toEqual([2, NONE, undefined]);
  lineage.want(4, new Set([6, 9, 11]));
  expect(asked).toEqual([[6, 9, 11]]);
  lineage.want(4, new Set([11]));
  expect(asked).toEqual([[6, 9, 11], [11]]);
});

test('what failed is told, and asked for again', async () => {
  let changes = 0;
  let fails = true;
  const lineage = async (): Promise<Uint8Array[]> => {
    if (fails) throw new Error('the server does not answer');
    return answer();
  };
  const contents = new Contents();
  const asked = new Lineage(contents, { lineage, contents: async () => [] }, () => changes++);
  asked.want(3, many);
  await until(() => changes > 1);
  expect(asked.fault).toBe('the server does not answer');
  fails = false;
  asked.want(3, many);
  await until(() => contents.has(7));
  await until(() => asked.fault === null);
});
