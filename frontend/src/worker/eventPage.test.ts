import { expect, test } from 'vitest';
import { RequestMemory } from '../ledger/requests';
import { readPage } from './eventPage';

test('a hash that comes as digits is what a record has', () => {
  const told = {
    record: 4,
    index: 0,
    step: 2,
    op: 7,
    time: 1,
    kind: 'admitted',
    sequence: null,
    request: 1,
    decision: { kind: 'admitted', op: 7, request: 1, missed: 'de00ff' },
  };
  const { rows } = readPage({ rows: [told as never], next: null, requests: {} }, new RequestMemory());
  expect(rows[0]!.kind).toMatchObject({ missed: Uint8Array.of(0xde, 0, 0xff) });
});
