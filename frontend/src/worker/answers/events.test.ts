import { describe, expect, test } from 'vitest';
import { session } from '../../../tests/toy';
import { matcher } from '../../filter/match';
import { readFilter } from '../../filter/read';
import { NONE, Operation } from '../../ledger/generated/constants';
import type { Step } from '../../ledger/generated/types';
import { RequestMemory } from '../../ledger/requests';
import { type EventRow, rowsOf as rowsThat } from './events';

const steps = session(24, 4, 9, 40).filter((record): record is Step => record.type === 'step');
const memory = new RequestMemory();
for (const step of steps) {
  for (const decision of step.decisions ?? []) {
    if (decision.kind === 'sequence_created') memory.sequences.set(decision.sequence, decision);
  }
}

/** The rows of a step that meet a filter. */
function rowsOf(step: Step, typed: string): EventRow[] {
  const read = readFilter(typed);
  if ('fault' in read) throw new Error(typed);
  const known = {
    sequence: (id: number) => memory.sequences.get(id),
    name: () => undefined,
    hash: () => undefined,
  };
  return rowsThat(step, matcher(read.filter, known, { startUtcUs: 0, zone: 0 }), memory);
}

describe('the rows of a step', () => {
  test('are its operations and decisions in the order in which they happened', () => {
    for (const step of steps) {
      const rows = rowsOf(step, '');
      const operations = rows.filter((row) => typeof row.kind === 'number');
      expect(operations.map((row) => row.op)).toEqual(
        Array.from(step.operations?.kind ?? [], (_, i) => step.op + i),
      );
      expect(rows.filter((row) => typeof row.kind !== 'number').map((row) => row.kind)).toEqual(
        step.decisions,
      );
      const order = rows.map((row) => row.op);
      expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(rows.map((row) => row.index)).toEqual(rows.map((_, i) => i));
    }
  });

  test('of one block are those that name it, as target or as source', () => {
    const all = steps.flatMap((step) => rowsOf(step, ''));
    const found = steps.flatMap((step) => rowsOf(step, 'block:3'));
    const isCopyOf = (kind: unknown, value: number): boolean => kind === Operation.copy && value === 3;
    expect(found).toEqual(all.filter((row) => row.block === 3 || isCopyOf(row.kind, row.value)));
    expect(found.length).toBeGreaterThan(0);
  });

  test('of one request are the operations that served its sequences, and its decisions', () => {
    const found = steps.flatMap((step) => rowsOf(step, 'owner:r1'));
    expect(found.length).toBeGreaterThan(0);
    for (const row of found) {
      if (typeof row.kind === 'number') expect(memory.requestOf(row.sequence)).toBe(1);
      else if (row.kind.kind !== 'preempted' && row.kind.kind !== 'gap') expect(row.kind.request).toBe(1);
      expect(row.label).toMatch(/^r1(\.\d+)?$/);
    }
  });

  test('of some kinds are those kinds and no decisions', () => {
    const kinds = [Operation.copy, Operation.evict];
    const found = steps.flatMap((step) => rowsOf(step, 'op:copy,evict'));
    expect(found.length).toBeGreaterThan(0);
    expect(found.every((row) => kinds.includes(row.kind as never))).toBe(true);
    expect(found.every((row) => row.block !== NONE)).toBe(true);
  });
});
