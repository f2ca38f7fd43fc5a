import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AnyRecord, Fold, isRecord } from '../src/ledger/fold';
import { FrameError, openFrame, unpackFrames } from '../src/ledger/frame';
import { mutate, seeded } from './mutations';

const FOLDER = join(import.meta.dirname, '../../tests/vectors');
const FULL = process.env.KVARIUM_TEST_SIZE === 'full';
const COUNT = FULL ? 10_000 : 500;
const SEED = FULL ? Date.now() % 2 ** 31 : 1;

/** Opens and folds a frame as the page does: "refused" (a FrameError of one line), "violation" or "lawful". */
function outcome(fold: Fold, frame: Uint8Array, following: readonly Uint8Array[]): string {
  try {
    const record = openFrame(frame);
    if (!isRecord(record)) return 'no record';
    const found = fold.apply(record);
    for (const violation of found) expect(violation.record).toBe(record.record);
    for (const each of following) fold.apply(openFrame(each) as AnyRecord);
    return found.length > 0 ? 'violation' : 'lawful';
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    expect(error.message).toMatch(/^.{1,2000}$/);
    return 'refused';
  }
}

describe(`mutated records are refused or reported (seed ${SEED})`, () => {
  for (const name of ['hand', 'engine']) {
    test(
      name,
      () => {
        const told = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));
        const frames = unpackFrames(new Uint8Array(readFileSync(join(FOLDER, `${name}.frames`))));
        const outcomes: Record<string, number> = {};
        const wrong: string[] = [];
        const lawful = new Fold(told.num_blocks, told.block_size);
        // Where each mutation stands is drawn first, so that one fold goes along once.
        const places = seeded(SEED);
        const count = new Array<number>(frames.length).fill(0);
        for (let i = 0; i < COUNT; i++) count[i % 10 === 0 ? 0 : Math.floor(places() * frames.length)]!++;
        let number = 0;
        for (const [at, frame] of frames.entries()) {
          for (let left = count[at]!; left > 0; left--) {
            const random = seeded(SEED * 100_003 + number++);
            const fold = new Fold(told.num_blocks, told.block_size);
            if (lawful.loaded) fold.copyFrom(lawful);
            const mutated = mutate(frame, random);
            const began = performance.now();
            try {
              const found = outcome(fold, mutated.frame, frames.slice(at + 1, at + 4));
              outcomes[found] = (outcomes[found] ?? 0) + 1;
            } catch (error) {
              wrong.push(
                `${number}: ${mutated.what} of record ${at}: ${(error as Error).stack?.slice(0, 400)}`,
              );
            }
            const seconds = (performance.now() - began) / 1000;
            if (seconds > 5) wrong.push(`${number}: ${mutated.what} of record ${at} took ${seconds} s`);
          }
          lawful.apply(openFrame(frame) as AnyRecord);
        }
        expect(wrong).toEqual([]);
        expect(outcomes.refused).toBeGreaterThan(COUNT / 20);
        expect(outcomes.violation).toBeGreaterThan(COUNT / 20);
        expect(process.memoryUsage().arrayBuffers).toBeLessThan(1 << 28);
      },
      FULL ? 600_000 : 30_000,
    );
  }
});
