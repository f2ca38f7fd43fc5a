/** Where a breakpoint was met: the note's own record tells it, a landmark has its words alone. */

import { openFrame } from '../ledger/frame';
import type { Hit } from '../ledger/generated/types';
import type { Session } from './session';

/** null: the record is no note of a breakpoint's, or can't be had. */
export async function hitOf(
  { history, requests }: Pick<Session, 'history' | 'requests'>,
  record: number,
): Promise<Hit | null> {
  try {
    const frame = history.get(record) ?? (await requests.frames(record - 1, 1))[0];
    const note = frame === undefined ? null : openFrame(frame);
    return note?.type === 'note' && note.record === record ? (note.hit ?? null) : null;
  } catch {
    return null;
  }
}
