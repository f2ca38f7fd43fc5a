/** A recording in memory, served as the backend serves it. */

import type { AnyRecord } from '../src/ledger/fold';
import { Fold } from '../src/ledger/fold';
import { sealFrame } from '../src/ledger/frame';
import type { Keyframe } from '../src/ledger/generated/types';
import { plainState } from '../src/ledger/plain';
import type { Requests } from '../src/worker/source';
import { differenceSince } from './difference';
import { session } from './toy';

export interface Recording {
  readonly records: readonly AnyRecord[];
  readonly frames: readonly Uint8Array[];
  /** What a fold is after each step, as JSON. */
  readonly states: ReadonlyMap<number, string>;
  readonly lastStep: number;
  readonly numBlocks: number;
  readonly blockSize: number;
  /** How many requests were made, and how many were answered with what changed since a record. */
  asked: number;
  differences: number;
  requests(): Requests;
}

/** A toy session; every step is followed by a text or control record now and then. */
export function recording(numBlocks: number, blockSize: number, seed: number, steps: number): Recording {
  const records = renumber(session(numBlocks, blockSize, seed, steps));
  const frames = records.map(sealFrame);
  const fold = new Fold(numBlocks, blockSize);
  const states = new Map<number, string>();
  const keyframes: { index: number; frame: Uint8Array }[] = [];
  let lastStep = -1;
  records.forEach((record, index) => {
    fold.apply(record);
    if (record.type === 'keyframe') keyframes.push({ index, frame: frames[index]! });
    if (record.type !== 'step' && record.type !== 'text') return;
    states.set(fold.step, JSON.stringify(plainState(fold)));
    lastStep = fold.step;
  });
  const made: Recording = {
    records,
    frames,
    states,
    lastStep,
    numBlocks,
    blockSize,
    asked: 0,
    differences: 0,
    requests() {
      const seek = async (step: number, since: number | null): Promise<Uint8Array[]> => {
        made.asked++;
        await Promise.resolve();
        const index = records.findLastIndex(
          (record) => (record.type === 'step' || record.type === 'text') && record.step === step,
        );
        const start = keyframes.findLast(
          (keyframe) => keyframe.index < index && (records[keyframe.index] as Keyframe).step < step,
        )!;
        const first = records[start.index] as Keyframe;
        const rest = frames.slice(start.index + 1, index + 6);
        if (since === null) return [start.frame, ...rest];
        made.differences++;
        return [sealFrame(differenceSince(records[since] as Keyframe, first, numBlocks)), ...rest];
      };
      const after = async (record: number): Promise<Uint8Array[]> => {
        made.asked++;
        await Promise.resolve();
        return frames.slice(record + 1, record + 9);
      };
      return { seek, frames: after } as unknown as Requests;
    },
  };
  return made;
}

/** Put text and control records between the steps, and number all anew. */
function renumber(records: readonly AnyRecord[]): AnyRecord[] {
  const all: AnyRecord[] = [];
  const push = (record: AnyRecord): void => {
    all.push({ ...record, record: all.length } as AnyRecord);
  };
  records.forEach((record, i) => {
    push(record);
    if (record.type !== 'step') return;
    if (i % 3 === 0) push({ type: 'text', record: 0, step: record.step });
    if (i % 5 === 0) push({ type: 'control', record: 0, time: 0, id: 'x', name: 'hold' });
  });
  return all;
}
