import { expect, test } from 'vitest';
import { Contents } from '../ledger/contents';
import { sealFrame } from '../ledger/frame';
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

test('what contents follow is asked for once a step, and not while an answer is on its way', async () => {
  const contents = new Contents();
  const steps: number[] = [];
  let changes = 0;
  const lineage = async (step: number): Promise<Uint8Array[]> => {
    steps.push(step);
    return answer();
  };
  const asked = new Lineage(contents, { lineage }, () => changes++);
  asked.want(3);
  asked.want(5);
  await until(() => changes > 0);
  expect([contents.parent(7), contents.parent(4)]).toEqual([4, 2]);
  await until(() => changes > 1);
  asked.want(3);
  expect(steps).toEqual([3]);
  asked.want(5);
  expect(steps).toEqual([3, 5]);
});

test('what failed is told, and asked for again', async () => {
  let changes = 0;
  let fails = true;
  const lineage = async (): Promise<Uint8Array[]> => {
    if (fails) throw new Error('the server does not answer');
    return answer();
  };
  const contents = new Contents();
  const asked = new Lineage(contents, { lineage }, () => changes++);
  asked.want(3);
  await until(() => changes > 1);
  expect(asked.fault).toBe('the server does not answer');
  fails = false;
  asked.want(3);
  await until(() => contents.has(7));
  expect(asked.fault).toBeNull();
});
