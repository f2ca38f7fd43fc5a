import { expect, test } from 'vitest';
import { complete, type Offered, take } from './complete';

const offered: Offered = {
  counts: { evict: 7, fill: 90, free: 12 },
  owners: ['r17', 'mix-18', 'two words'],
  recent: ['op:evict'],
};
const names = (text: string, caret = text.length): readonly string[] =>
  complete(text, caret, offered).offers.map(({ insert }) => insert);

test('an empty field offers what was used before, and every field', () => {
  expect(names('').slice(0, 3)).toEqual(['op:evict', 'op:', 'decision:']);
  expect(names('op:evict ')).not.toContain('op:evict');
});

test('the beginning of a word offers the fields that begin so', () => {
  expect(names('s')).toEqual(['seq:', 'step:']);
  expect(names('op:evict -st')).toEqual(['step:']);
  expect(names('"s')).toEqual([]);
});

test('a field offers its values, the most frequent operation first', () => {
  expect(names('op:').slice(0, 3)).toEqual(['fill', 'free', 'evict']);
  expect(names('op:fill,e')).toEqual(['evict']);
  expect(names('cause:pre')).toEqual(['prefill', 'prefix_hit', 'preempted']);
  expect(names('owner:1')).toEqual(['r17', 'mix-18']);
  expect(names('owner:t')).toEqual(['"two words"']);
  expect(names('block:')).toEqual([]);
});

test('what is taken stands in place of what was typed there, and only of that', () => {
  const text = 'op:fi block:3';
  const completion = complete(text, 5, offered);
  expect(take(text, completion, completion.offers[0]!)).toEqual({ text: 'op:fill block:3', caret: 7 });
  const list = complete('op:fill,e', 9, offered);
  expect(take('op:fill,e', list, list.offers[0]!)).toEqual({ text: 'op:fill,evict ', caret: 14 });
  const field = complete('-st', 3, offered);
  expect(take('-st', field, field.offers[0]!)).toEqual({ text: '-step:', caret: 6 });
});
