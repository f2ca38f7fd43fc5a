/** The nearest event that meets a filter: the server knows it, or the recording that the page holds. */

import { grounded } from '../filter/ground';
import { printFilter } from '../filter/print';
import { readFilter } from '../filter/read';
import type { Direction, EventPlace } from './eventPage';
import type { Found } from './protocol';
import type { Session } from './session';

/** From the step that is shown on: what lies behind it, or before it. */
function besideView({ fold, current }: Session, direction: Direction): EventPlace {
  if (direction === 'later') return { record: fold.record + 1, index: 0 };
  return { record: current?.record ?? fold.record, index: 0 };
}

export async function findEvent(
  session: Session,
  filter: string,
  direction: Direction,
  from: EventPlace | null,
): Promise<Found> {
  const { fold, origin, requests, memory } = session;
  const read = readFilter(filter);
  if (!fold.loaded || 'fault' in read) return { row: null };
  const asked = printFilter(grounded(read.filter, origin));
  let at: EventPlace | null = from ?? besideView(session, direction);
  try {
    while (at !== null) {
      const page = await requests.events({ filter: asked, from: at, direction, limit: 1 }, memory);
      const row = page.rows.find(({ kind }) => typeof kind === 'number' || kind.kind !== 'gap');
      if (row !== undefined) return { row };
      at = page.next;
    }
    return { row: null };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
