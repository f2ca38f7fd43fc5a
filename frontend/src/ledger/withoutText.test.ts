import fc from 'fast-check';
import { expect, test } from 'vitest';
import { session } from '../../tests/toy';
import { type AnyRecord, Fold } from './fold';
import { beforeOf, textBetween } from './withoutText';

/** Records with a text behind each step. */
function withTexts(seed: number, steps: number): AnyRecord[] {
  const told: AnyRecord[] = [];
  for (const each of session(12, 4, seed, steps)) {
    told.push({ ...each, record: told.length });
    if (each.type === 'step') told.push({ type: 'text', record: told.length, step: each.step });
  }
  return told;
}

function follow(records: readonly AnyRecord[]): Fold {
  const fold = new Fold(12, 4);
  let last: ReturnType<typeof beforeOf> = null;
  for (const record of records) {
    const text = textBetween(last, record);
    if (text !== null) fold.apply(text);
    fold.apply(record);
    last = beforeOf(record);
  }
  return fold;
}

test('a session without its texts is followed, and any other record that is missing is a fault', () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(13), (seed, at) => {
      const plain = withTexts(seed, 15).filter(({ type }) => type !== 'text');
      const fold = follow(plain);
      expect(fold.violation).toBeNull();
      expect(fold.verified).toBe(true);
      const missing = 1 + at;
      const holed = follow(plain.filter((_, i) => i !== missing));
      expect(holed.violation?.kind).toBe('order');
    }),
    { numRuns: 20 },
  );
});
