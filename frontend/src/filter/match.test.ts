import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import told from '../../../tests/vectors/engine.json';
import found from '../../../tests/vectors/events.json';
import { type AnyRecord, Fold } from '../ledger/fold';
import { openFrame, unpackFrames } from '../ledger/frame';
import type { Step } from '../ledger/generated/types';
import { RequestMemory } from '../ledger/requests';
import { rowsOf } from '../worker/answers/events';
import { ContentHashes } from '../worker/contentHashes';
import { Lives } from '../worker/lives';
import { matcher } from './match';
import { readFilter } from './read';

const path = join(import.meta.dirname, '../../../tests/vectors/engine.frames');
const records = unpackFrames(readFileSync(path)).map((frame) => openFrame(frame) as AnyRecord);
const steps = records.filter((record): record is Step => record.type === 'step');

test('what meets a filter is what Python finds with it', async () => {
  const memory = new RequestMemory();
  const fold = new Fold(told.num_blocks, told.block_size, undefined, memory);
  const hashes = await ContentHashes.of(told);
  let held: Step | null = null;
  for (const record of records) {
    fold.apply(record);
    if (record.type === 'text') await hashes.learn(held!.contents!, record);
    held = record.type === 'step' ? record : null;
  }
  const known = {
    sequence: (sequence: number) => memory.sequences.get(sequence),
    name: (request: number) => memory.facts.get(request)?.name,
    hash: (content: number) => hashes.get(content),
  };
  for (const [typed, places] of Object.entries(found)) {
    const read = readFilter(typed);
    if ('fault' in read) throw new Error(typed);
    const isWanted = matcher(read.filter, known, { startUtcUs: 0, zone: 0 });
    const lives = new Lives(new Uint32Array(told.num_blocks));
    const rows = steps.flatMap((step) => rowsOf(step, isWanted, memory, lives));
    expect(
      rows.map(({ record, index }) => [record, index]),
      typed,
    ).toEqual(places);
  }
});
