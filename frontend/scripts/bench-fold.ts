/**
 * How fast the page's fold is: `node bench-fold.js FRAMES NUM_BLOCKS BLOCK_SIZE`, built and run by `kvarium bench stream`.
 *
 * FRAMES is a run of frames, each with its length before it. A batch is decoded, then applied; each is timed by itself.
 * Prints one JSON object.
 */

import { readFileSync } from 'node:fs';

import { Fold, isRecord } from '../src/ledger/fold';
import { openFrame, unpackFrames } from '../src/ledger/frame';

const BATCH = 500;

const [file, numBlocks, blockSize] = process.argv.slice(2);
const frames = unpackFrames(new Uint8Array(readFileSync(file!)));
const fold = new Fold(Number(numBlocks), Number(blockSize));
let decoding = 0;
let applying = 0;
for (let begin = 0; begin < frames.length; begin += BATCH) {
  const began = performance.now();
  const records = frames
    .slice(begin, begin + BATCH)
    .map(openFrame)
    .filter(isRecord);
  const decoded = performance.now();
  for (const record of records) fold.apply(record);
  applying += performance.now() - decoded;
  decoding += decoded - began;
}
const fault = fold.violation?.message ?? (fold.verified ? null : 'the last digest was not reached');
const told = { operations: fold.op, decoding_ms: decoding, applying_ms: applying, fault };
process.stdout.write(`${JSON.stringify(told)}\n`);
