import { expect, test } from 'vitest';
import type { Nearest } from '../../store/generated/answers';
import { parted } from './parted';

const nearest: Nearest = {
  agree: 7,
  first: 4,
  own: [10, 11, 12, 20, 21],
  cached: [10, 11, 12, 30, 31],
  own_text: ' upgra',
  cached_text: ' upon ',
  held: { content: 1, life: null, who: null, labelled: null, lost: null },
};

test('two texts are parted where they differ, by whole characters', () => {
  expect(parted(nearest)).toEqual({ same: ' up', left: 'gra', right: 'on ' });
  // Of two fish the first halves are equal.
  const fish = { ...nearest, own_text: 'a🐟', cached_text: 'a🐠' };
  expect(parted(fish)).toEqual({ same: 'a', left: '🐟', right: '🐠' });
  expect(parted({ ...nearest, own_text: 'up', cached_text: 'upon' })).toEqual({
    same: 'up',
    left: '',
    right: 'on',
  });
});

test('where no text is known, tokens are told by their numbers', () => {
  const told = { same: '10 11 12 ', left: '20 21 ', right: '30 31 ' };
  expect(parted({ ...nearest, own_text: null })).toEqual(told);
  expect(parted({ ...nearest, cached_text: null })).toEqual(told);
});
