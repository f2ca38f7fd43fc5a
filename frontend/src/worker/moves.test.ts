import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import { decodeOperations } from '../ledger/columns';
import { Fold } from '../ledger/fold';
import { Operation } from '../ledger/generated/constants';
import { MOVE_KINDS, movesAt } from './moves';
import { copiesAt } from './operation';

const made = recording(20, 4, 11, 90);

test('what a step moved in the queue is what stood in it before and does not after, or the other way round', () => {
  const fold = new Fold(made.numBlocks, made.blockSize);
  let moved = 0;
  for (const record of made.records) {
    const before = fold.blocks.ticket.slice();
    fold.apply(record);
    if (record.type !== 'step') continue;
    const moves = movesAt(record, fold)!;
    const left = new Set([...moves.kinds.taken, ...moves.kinds.hit].map(({ block }) => block));
    const joined = new Set([...moves.kinds.joined, ...moves.kinds.joinedHead].map(({ block }) => block));
    moved += left.size + joined.size;
    for (let b = 0; b < made.numBlocks; b++) {
      const was = !Number.isNaN(before[b]!);
      const is = !Number.isNaN(fold.blocks.ticket[b]!);
      if (was && !is) expect(left.has(b)).toBe(true);
      if (!was && is) expect(joined.has(b)).toBe(true);
      if (!left.has(b) && !joined.has(b)) expect(fold.blocks.ticket[b]).toBe(before[b]);
    }
    for (const kind of MOVE_KINDS) expect(moves.counts[kind]).toBe(moves.kinds[kind].length);
  }
  expect(moved).toBeGreaterThan(50);
});

test('within a step only what was done by then is told', () => {
  const fold = new Fold(made.numBlocks, made.blockSize);
  let copies = 0;
  for (const record of made.records) {
    fold.apply(record);
    if (record.type !== 'step') continue;
    const { kind, block, length } = decodeOperations(record.operations);
    for (let done = length; done >= 0; done--) {
      fold.stand(record, record.op + done);
      const told = kind.subarray(0, done);
      const count = (of: number): number => told.filter((each) => each === of).length;
      const moves = movesAt(record, fold)!;
      expect(moves.counts.hit).toBe(count(Operation.reuse));
      expect(moves.counts.taken).toBe(count(Operation.allocate) + count(Operation.copy));
      expect(moves.evicted).toHaveLength(count(Operation.evict));
      const targets = [...block.subarray(0, done)].filter((_, i) => told[i] === Operation.copy);
      expect(copiesAt(record, fold).map(({ target }) => target)).toEqual(targets);
      copies += targets.length;
    }
    fold.stand(record, record.op + length);
  }
  expect(copies).toBeGreaterThan(0);
});

test('of another step, and of none, nothing is told', () => {
  const fold = new Fold(made.numBlocks, made.blockSize);
  fold.apply(made.records[0]!);
  expect(movesAt(null, fold)).toBeNull();
  const later = made.records.find((record) => record.type === 'step' && record.step === 9)!;
  expect(later.type === 'step' && movesAt(later, fold)).toBeNull();
});
