import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import told from '../../../tests/vectors/engine.json';
import found from '../../../tests/vectors/events.json';
import { unpackFrames } from '../ledger/frame';
import { peekFrame } from '../ledger/peek';
import { RequestMemory } from '../ledger/requests';
import { EmbeddedEvents } from './embeddedEvents';

const path = join(import.meta.dirname, '../../../tests/vectors/engine.frames');
const frames = unpackFrames(readFileSync(path));
const parts: (readonly Uint8Array[])[] = [];
// A step and its text, which is the record behind it, may stand in two parts.
for (let at = 0; at < frames.length; at += 17) parts.push(frames.slice(at, at + 17));

const page = (recordText?: string): EmbeddedEvents =>
  new EmbeddedEvents({
    first: parts.map(([first]) => peekFrame(first!).record ?? 0),
    last: parts.map((part) => peekFrame(part.at(-1)!).record ?? 0),
    open: async (part) => parts[part]!,
    hello: async () => ({
      block_size: told.block_size,
      ...(recordText === undefined ? {} : { record_text: recordText }),
    }),
  });
const query = (filter: string): Parameters<EmbeddedEvents['page']>[0] => ({
  filter,
  from: { record: 0, index: 0 },
  direction: 'later',
  limit: 1000,
});

test('a hash is found as Python finds it, by tokens that are told a record later', async () => {
  const typed = 'hash:a,3 op:evict';
  const { rows } = await page().page(query(typed), new RequestMemory());
  expect(rows.map(({ record, index }) => [record, index])).toEqual(found[typed]);
});

test('a hash is refused where text is not recorded', async () => {
  await expect(page('hash').page(query('hash:a'), new RequestMemory())).rejects.toThrow('not recorded');
  expect((await page('hash').page(query('op:evict'), new RequestMemory())).rows).not.toEqual([]);
});
