import { expect, test } from 'vitest';
import { partsOf } from './Slots';

test("a block's text is cut where its tokens begin, and a character of several tokens is one part", () => {
  const pieces = [' a', '<0xC3>', '<0xA9>', null, 'b', '', '<0xF0>'];
  const tokens = pieces.map((_, i) => i);
  // The last character goes on in the next block.
  expect(partsOf({ tokens, pieces, state: 'here' })).toEqual([
    { text: ' a', slot: 0 },
    { text: 'é', slot: 1 },
    { text: 'b', slot: 4 },
  ]);
  expect(partsOf({ tokens: [7], pieces: [null], state: 'here' })).toEqual([]);
});
