/**
 * In which step a block was freed, by the ticket that it got then. The state does not tell it: a page knows it of the steps
 * that it folded. Tickets at the tail of the queue only grow, so that those of one step are a range of their own.
 */

import { decodeOperations } from '../ledger/columns';
import { Operation } from '../ledger/generated/constants';
import type { Step } from '../ledger/generated/types';
import { Ranges } from '../ledger/ranges';

interface Given {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

export class Freed {
  private given: Given[] = [];
  private sorted = true;
  private readonly seen = new Ranges();

  /** A fold applied a step. */
  note(step: Step): void {
    const kinds = step.operations?.kind;
    if (kinds === undefined || !kinds.includes(Operation.free) || this.seen.has(step.record)) return;
    this.seen.add(step.record);
    const { kind, ticket, length } = decodeOperations(step.operations);
    let first = Number.POSITIVE_INFINITY;
    let last = Number.NEGATIVE_INFINITY;
    let at = 0;
    for (let i = 0; i < length; i++) {
      const each = kind[i];
      if (each === Operation.free) {
        const own = ticket[at++]!;
        // Below zero is the head of the queue, where what holds no content may go.
        if (own < 0) continue;
        first = Math.min(first, own);
        last = Math.max(last, own);
      } else if (each === Operation.allocate || each === Operation.reuse || each === Operation.copy) at++;
    }
    if (first > last) return;
    this.sorted &&= first > (this.given.at(-1)?.last ?? -1);
    this.given.push({ first, last, step: step.step });
  }

  /** The step in which a ticket was given; null: this page has not seen it. */
  stepOf(ticket: number): number | null {
    const { given } = this;
    if (!this.sorted) given.sort((a, b) => a.first - b.first);
    this.sorted = true;
    let low = 0;
    let high = given.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (given[middle]!.first <= ticket) low = middle + 1;
      else high = middle;
    }
    const found = given[low - 1];
    return found !== undefined && ticket <= found.last ? found.step : null;
  }
}
