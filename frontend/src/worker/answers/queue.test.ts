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

test('it is as exact in a large pool, whatever the order of its tickets', () => {
  const size = 50_000;
  const blocks = new Blocks(size);
  for (const ticketOf of [
    (b: number) => b,
    (b: number) => size - b,
    (b: number) => (b * 7919) % size,
    // All but a few are in use; and the low ones lie together, where a sample may miss them.
    (b: number) => (b % 5000 === 0 ? b : Number.NaN),
    (b: number) => (b < 100 || b > 40_000 ? b : Number.NaN),
  ]) {
    for (let b = 0; b < size; b++) blocks.ticket[b] = ticketOf(b);
    const queued = [...blocks.ticket.keys()]
      .filter((b) => !Number.isNaN(blocks.ticket[b]!))
      .sort((a, b) => blocks.ticket[a]! - blocks.ticket[b]!);
    for (const k of [1, 60, 3000]) expect(Array.from(headOfQueue(blocks, k))).toEqual(queued.slice(0, k));
  }
});
