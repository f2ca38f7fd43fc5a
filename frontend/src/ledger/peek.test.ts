import fc from 'fast-check';
import { expect, test } from 'vitest';
import { session } from '../../tests/toy';
import { sealFrame } from './frame';
import { peekFrame } from './peek';

test('a peek tells the type, record and step of every record', () => {
  for (const record of session(12, 4, 1, 20)) {
    const step = record.type === 'step' ? record.step : null;
    expect(peekFrame(sealFrame(record))).toEqual({ type: record.type, record: record.record, step });
  }
});

test('numbers of any size are read, and other orders of the fields too', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.maxSafeNat(), fc.boolean(), (record, step, usual) => {
      const text = usual ? { type: 'text', record, step } : { step, record, type: 'text' };
      expect(peekFrame(sealFrame(text as never))).toEqual({ type: 'text', record, step });
    }),
  );
});

test('a message has no record', () => {
  const skip = { type: 'skip', first: 3, last: 9 } as const;
  expect(peekFrame(sealFrame(skip))).toEqual({ type: 'skip', record: null, step: null });
});
