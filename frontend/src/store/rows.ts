/** Which rows of the block tables are wanted, and in which order: as it is chosen, and in the address. */

import { signal } from '@preact/signals';
import { ROW_ORDERS, ROW_STATES, type RowOrder, type RowState } from '../worker/answers/tables';
import { keepInAddress } from './address';

export const rowState = signal<RowState>('running');
export const rowWords = signal('');
export const rowOrder = signal<RowOrder>('arrival');
export const rowsDescend = signal(false);

/** Who sorts by a figure looks for the largest; who comes first is at the top. */
const descends = (order: RowOrder): boolean => order !== 'arrival';

export function orderRows(order: RowOrder): void {
  rowOrder.value = order;
  rowsDescend.value = descends(order);
}

export function turnRows(): void {
  rowsDescend.value = !rowsDescend.peek();
}

/** As at the beginning: all that hold blocks, as they came. */
export function allRows(): void {
  rowState.value = 'running';
  rowWords.value = '';
}

keepInAddress({
  name: 'rows',
  now: () => (rowState.value === 'running' ? null : rowState.value),
  take: (said) => {
    const state = ROW_STATES.find((each) => each === (said ?? 'running'));
    rowState.value = state ?? 'running';
    return state !== undefined;
  },
  isEntry: true,
});

keepInAddress({
  name: 'having',
  now: () => rowWords.value.trim() || null,
  take: (said) => {
    rowWords.value = said ?? '';
    return true;
  },
  // Each character is none to come back from.
  isEntry: false,
});

/** `blocks`, or `blocks-up` where it is turned. */
keepInAddress({
  name: 'order',
  now: () => {
    const order = rowOrder.value;
    const isTurned = rowsDescend.value !== descends(order);
    if (order === 'arrival' && !isTurned) return null;
    return isTurned ? `${order}-${descends(order) ? 'up' : 'down'}` : order;
  },
  take: (said) => {
    const [name, turned, more] = (said ?? 'arrival').split('-');
    const order = ROW_ORDERS.find((each) => each === name);
    const isTurned = turned !== undefined;
    orderRows(order ?? 'arrival');
    if (order === undefined || more !== undefined) return false;
    if (!isTurned) return true;
    if (turned !== (descends(order) ? 'up' : 'down')) return false;
    turnRows();
    return true;
  },
  isEntry: true,
});
