import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AnyRecord, Fold } from '../src/ledger/fold';
import { openFrame, unpackFrames } from '../src/ledger/frame';
import type { Step } from '../src/ledger/generated/types';
import { plainState } from '../src/ledger/plain';

/** Written by Python (`python -m tests.vectors.make`): frames, and what a fold is after some of them. */
const FOLDER = join(import.meta.dirname, '../../tests/vectors');
const names = existsSync(FOLDER)
  ? readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.frames'))
      .map((name) => name.slice(0, -'.frames'.length))
  : [];

interface Told {
  num_blocks: number;
  block_size: number;
  states: { record: number; step: number; op: number }[];
}

/** Python writes tickets as floats and NaN as null. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe.skipIf(names.length === 0)('the fold agrees with Python on the shared vectors', () => {
  for (const name of names) {
    const read = (): { told: Told; frames: Uint8Array[] } => ({
      told: JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')),
      frames: unpackFrames(readFileSync(join(FOLDER, `${name}.frames`))),
    });

    test(`${name}: forwards`, () => {
      const { told, frames } = read();
      const states = new Map(told.states.map((state) => [state.record, state]));
      const fold = new Fold(told.num_blocks, told.block_size);
      for (const frame of frames) {
        expect(fold.apply(openFrame(frame) as AnyRecord)).toEqual([]);
        const state = states.get(fold.record);
        if (state !== undefined) expect(asJson(plainState(fold))).toEqual(state);
        states.delete(fold.record);
      }
      expect([...states.keys()]).toEqual([]);
    });

    test(`${name}: within records`, () => {
      const { told, frames } = read();
      const within = readFileSync(join(FOLDER, `${name}.within.json`), 'utf8');
      const states = JSON.parse(within) as Told['states'];
      expect(states.length).toBeGreaterThan(3);
      const fold = new Fold(told.num_blocks, told.block_size);
      for (const frame of frames) {
        const record = openFrame(frame) as AnyRecord;
        fold.apply(record);
        for (const state of states.filter((each) => each.record === record.record)) {
          expect(fold.stand(record as Step, state.op)).toEqual([]);
          expect(asJson(plainState(fold))).toEqual(state);
          expect(fold.stand(record as Step, fold.op + fold.rest)).toEqual([]);
        }
      }
    });

    test(`${name}: backwards`, () => {
      const { told, frames } = read();
      const records = frames.map((frame) => openFrame(frame) as AnyRecord);
      const states = new Map(told.states.map((state) => [state.record, state]));
      const fold = new Fold(told.num_blocks, told.block_size);
      for (const record of records) fold.apply(record);
      for (let i = records.length - 1; i > 0; i--) {
        const state = states.get(fold.record);
        if (state !== undefined) expect(asJson(plainState(fold))).toEqual(state);
        fold.undo(records[i]!);
      }
    });
  }
});
