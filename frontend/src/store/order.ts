/** In which order blocks lie on the map: kept in the address, and from visit to visit. */

import { effect, signal } from '@preact/signals';
import { ORDERS, type Order } from '../worker/order';
import { keepInAddress } from './address';
import { keep, recall } from './kept';
import { centre } from './layout';
import { wantOrder } from './ledger';
import { unmarkRectangle } from './rectangle';

const first = ORDERS[0];

function orderOf(said: string | null): Order | undefined {
  return ORDERS.find((each) => each === said);
}

export const order = signal<Order>(orderOf(recall('arrange')) ?? first);

export function orderBy(next: Order): void {
  if (next === order.peek()) return;
  // In its cells lie other blocks now.
  unmarkRectangle();
  order.value = next;
  keep('arrange', next === first ? null : next);
}

export function nextOrder(): void {
  orderBy(ORDERS[(ORDERS.indexOf(order.peek()) + 1) % ORDERS.length]!);
}

/** The address says nothing of what goes without saying; where it is first read, what was chosen last does. */
let isRead = false;
keepInAddress({
  name: 'arrange',
  now: () => (order.value === first ? null : order.value),
  take: (said) => {
    const kept = isRead ? first : order.peek();
    isRead = true;
    const next = said === null ? kept : orderOf(said);
    order.value = next ?? kept;
    return next !== undefined;
  },
  isEntry: false,
});

effect(() => {
  // Nobody looks at it: then it takes no time.
  wantOrder.value = centre.value === 'map' ? order.value : first;
});
