import { describe, expect, test } from 'vitest';
import { arranged } from './arranged';
import type { SessionInfo } from './sessions';

function made(id: string, more: Partial<SessionInfo>): SessionInfo {
  const nothing = { name: '', model: '', engine: '', runner: 'null', device: 'cpu', state: 'ended' };
  return { ...nothing, id, operations: 0, bytes: 0, started_utc_us: 0, ...more } as SessionInfo;
}

const ALL = [
  made('a', { name: 'run 10', started_utc_us: 1, operations: 5, bytes: 9 }),
  made('b', { name: 'run 9', started_utc_us: 3, operations: 7, bytes: 99, stored_bytes: 1 }),
  made('c', { name: 'other', started_utc_us: 2, state: 'live', model: 'SmolLM2' }),
];
const ids = (by: Parameters<typeof arranged>[1], words = ''): string =>
  arranged(ALL, by, words, (id) => (id === 'a' ? 'a late eviction' : ''))
    .map(({ id }) => id)
    .join('');

describe('the list of sessions', () => {
  test('has live ones first, and the rest in the order that is asked for', () => {
    expect([ids('started'), ids('name'), ids('operations'), ids('stored')]).toEqual([
      'cba',
      'cba',
      'cba',
      'cab',
    ]);
  });
  test('is searched by every word in name, note, engine', () => {
    expect(['run', 'smol', 'EVICTION run', 'eviction smol', ' '].map((words) => ids('name', words))).toEqual([
      'ba',
      'c',
      'a',
      '',
      'cba',
    ]);
  });
});
