import { expect, test } from 'vitest';
import { csvOf } from './csv';

test('cells with quotes, commas or lines are quoted; NULL is nothing, a list is JSON', () => {
  const rows = [
    [1, 'a "b", c', null],
    [[1, 2], 'two\nlines', true],
  ];
  expect(csvOf(['n', 'text', 'x,y'], rows)).toBe(
    'n,text,"x,y"\n1,"a ""b"", c",\n"[1,2]","two\nlines",true\n',
  );
});
