import { expect, test } from 'vitest';
import { Interned } from './interned';

const BLOCK = 4;
const MOST = 1000 * BLOCK;
const tokens = (content: number): Uint32Array => Uint32Array.of(content, content, content, content);
const kept = (interned: Interned, count: number): number[] =>
  Array.from({ length: count }, (_, content) => content).filter((each) => interned.get(each) !== undefined);

test('what was not used for longest goes first, and as much stays as is allowed, less an eighth', () => {
  const interned = new Interned(BLOCK, MOST);
  for (let content = 0; content < 1000; content++) interned.set(content, tokens(content));
  expect(kept(interned, 1000).length).toBe(1000);
  interned.get(0);
  interned.set(1000, tokens(1000));
  const left = kept(interned, 1001);
  expect(left[0]).toBe(0);
  expect(left.slice(1)).toEqual(Array.from({ length: 874 }, (_, i) => 127 + i));
  expect(interned.get(1000)).toEqual(tokens(1000));
});
