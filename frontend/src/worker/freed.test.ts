import { expect, test } from 'vitest';
import { Toy } from '../../tests/toy';
import { Fold } from '../ledger/fold';
import type { Step } from '../ledger/generated/types';
import { Freed } from './freed';

/** A session's steps, and for each of its tickets at the tail the step in which a block got it. */
function session(): { steps: Step[]; given: Map<number, number> } {
  const toy = new Toy(24, 4, 11);
  const fold = new Fold(24, 4);
  fold.apply(toy.keyframe());
  const steps: Step[] = [];
  const given = new Map<number, number>();
  for (let i = 0; i < 80; i++) {
    const step = toy.next();
    const before = new Set(fold.blocks.ticket);
    fold.apply(step);
    steps.push(step);
    for (const ticket of fold.blocks.ticket)
      if (ticket >= 0 && !before.has(ticket)) given.set(ticket, step.step);
  }
  return { steps, given };
}

test('a ticket tells the step in which a block was freed, in whatever order the steps are folded', () => {
  const { steps, given } = session();
  expect(given.size).toBeGreaterThan(50);
  for (const order of [steps, steps.toReversed(), [...steps.slice(40), ...steps.slice(0, 50)]]) {
    const freed = new Freed();
    for (const step of order) freed.note(step);
    for (const [ticket, step] of given) expect(freed.stepOf(ticket)).toBe(step);
  }
});

test('of a step that was not folded it is not known', () => {
  const { steps, given } = session();
  const freed = new Freed();
  for (const step of steps) if (step.step % 2 === 0) freed.note(step);
  for (const [ticket, step] of given) expect(freed.stepOf(ticket)).toBe(step % 2 === 0 ? step : null);
});
