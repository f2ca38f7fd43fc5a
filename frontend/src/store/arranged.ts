/** Sessions as a list shows them: in an order, and those that are looked for. */

import type { SessionInfo } from './sessions';

export type Order = 'name' | 'operations' | 'stored' | 'started';

/** The sessions in an order, live ones first, of which `words` stand in the name, the note or what the engine is. */
export function arranged(
  sessions: readonly SessionInfo[],
  by: Order,
  words: string,
  noteOf: (id: string) => string,
): SessionInfo[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = sessions.filter((each) => {
    const said = [each.name, each.id, each.model, each.engine, each.runner, each.device, noteOf(each.id)];
    const all = said.join('\n').toLowerCase();
    return wanted.every((word) => all.includes(word));
  });
  const size = (each: SessionInfo): number => each.stored_bytes ?? each.bytes;
  const compare: Record<Order, (a: SessionInfo, b: SessionInfo) => number> = {
    name: (a, b) => (a.name || a.id).localeCompare(b.name || b.id, undefined, { numeric: true }),
    operations: (a, b) => b.operations - a.operations,
    stored: (a, b) => size(b) - size(a),
    started: (a, b) => b.started_utc_us - a.started_utc_us,
  };
  const isLive = (each: SessionInfo): number => (each.state === 'live' ? 0 : 1);
  return found.sort(
    (a, b) => isLive(a) - isLive(b) || compare[by](a, b) || b.started_utc_us - a.started_utc_us,
  );
}
