import fc from 'fast-check';
import { expect, test } from 'vitest';
import { text } from '../text';
import { fitOf } from './fuzzy';

const TITLES = Object.values(text.commands);

function best(typed: string): string | undefined {
  return TITLES.flatMap((title) => {
    const found = fitOf(typed, title);
    return found === null ? [] : [{ title, score: found.score }];
  }).sort((a, b) => b.score - a.score)[0]?.title;
}

test('what is meant comes first', () => {
  expect(best('map')).toBe(text.commands.map);
  expect(best('mem')).toBe(text.commands.map);
  expect(best('map mem')).toBe(text.commands.map);
  expect(best('timel')).toBe(text.commands.timeline);
  expect(best('nl')).toBe(text.commands.nextLandmark);
  expect(best('FREE')).toBe(text.commands.queue);
  expect(best('hold')).toBe(text.commands.hold);
  expect(best('xyzzy')).toBeUndefined();
});

test('the letters that are found are those that were typed, in order', () => {
  const letters = fc.string({ unit: fc.constantFrom(...'abc '), maxLength: 14 });
  fc.assert(
    fc.property(letters, letters, (title, typed) => {
      const word = typed.replaceAll(' ', '');
      const found = fitOf(word, title);
      const isThere =
        [...word].reduce((at, each) => (at < 0 ? at : title.indexOf(each, at) + 1 || -1), 0) >= 0;
      expect(found !== null).toBe(isThere);
      expect(found?.places.map((place) => title[place]).join('') ?? word).toBe(word);
    }),
  );
});

test('letters that stand together fit better than scattered ones, and so do beginnings of words', () => {
  const score = (typed: string, title: string): number => fitOf(typed, title)!.score;
  expect(score('abc', 'x abc x')).toBeGreaterThan(score('abc', 'a x b x c'.replaceAll(' ', 'x')));
  expect(score('ab', 'alpha beta')).toBeGreaterThan(score('ab', 'xaxbxxxxxx'));
});
