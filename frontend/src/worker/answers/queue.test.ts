import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Blocks } from '../../ledger/blocks';
import { headOfQueue, rankInQueue } from './queue';

const tickets = fc.uniqueArray(fc.integer({ min: -50, max: 1000 }), { minLength: 1, maxLength: 60 });

test('the head of the queue is the lowest tickets in order, and a rank is a place in it', () => {
  fc.assert(
    fc.property(tickets, fc.nat(70), fc.nat(5), (all, k, every) => {
      const blocks = new Blocks(all.length);
      all.forEach((ticket, b) => {
        blocks.ticket[b] = every > 0 && b % (every + 1) === 0 ? Number.NaN : ticket;
      });
      const queued = all
        .map((_, b) => b)
        .filter((b) => !Number.isNaN(blocks.ticket[b]!))
        .sort((a, b) => blocks.ticket[a]! - blocks.ticket[b]!);
      expect(Array.from(headOfQueue(blocks, k))).toEqual(queued.slice(0, k));
      all.forEach((_, b) => {
        expect(rankInQueue(blocks, b)).toBe(queued.includes(b) ? queued.indexOf(b) : null);
      });
    }),
  );
});
