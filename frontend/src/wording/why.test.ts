import { expect, test } from 'vitest';
import { why as vietnamese } from './vi/why';
import { why } from './why';

/** Every text by its path, with what it has in braces. */
function braces(part: object, path = ''): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, each] of Object.entries(part)) {
    const said: unknown = typeof each === 'function' ? each(3, 5, 7, 11) : each;
    if (typeof said === 'string')
      found.set(`${path}.${name}`, [...new Set(said.match(/\{\w+\}/g) ?? [])].sort());
    else for (const [below, those] of braces(each as object, `${path}.${name}`)) found.set(below, those);
  }
  return found;
}

test('what stands in braces is the same in both languages, and is what an answer puts there', () => {
  const ours = braces(why);
  expect(braces(vietnamese)).toEqual(ours);
  const names = new Set([...ours.values()].flat());
  expect([...names].sort()).toEqual(['{at}', '{life}', '{lives}', '{op}', '{own}', '{theirs}', '{who}']);
});

/** Every text as it is told of so many of everything. */
function toldOf(count: number, part: object = why): string[] {
  return Object.values(part).flatMap((each: unknown): string[] => {
    const said = typeof each === 'function' ? (each(count, count, count, count) as unknown) : each;
    return typeof said === 'string' ? [said] : toldOf(count, said as object);
  });
}

test('one is told as one', () => {
  for (const each of toldOf(1))
    expect(each).not.toMatch(/(^|[ ,;(])1( of \S+)?( of them| blocks?| slots?)? (were|are|run|hold)\b/);
  expect(why.eviction.hit(1)).toBe('1 time in this life');
  expect(why.preemption.needed(1, 0, 6)).toBe('{who} needed 1 block, and 0 of 6 were free.');
  expect(why.miss.short(2, 16)).toBe(
    'The 2 tokens behind what was hit are less than a block of 16: only full blocks are cached.',
  );
});
