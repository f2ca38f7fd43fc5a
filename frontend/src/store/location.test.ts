// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest';

vi.stubGlobal(
  'Worker',
  class {
    postMessage() {}
  },
);
const { readPlace, writePlace, wrongStep } = await import('./location');

test('an address is read as it was written, and a step that is none is noticed', () => {
  const place = { session: 'a b', step: 7, block: null, sequence: 3, request: null };
  expect(readPlace(writePlace(place))).toEqual(place);
  for (const said of ['-5', '1.5', 'x', '1e3']) {
    expect(wrongStep(`?step=${said}`)).toBe(said);
    expect(readPlace(`?step=${said}`).step).toBeNull();
  }
  for (const address of ['', '?step=', '?step=0', '?step=12&block=3']) expect(wrongStep(address)).toBeNull();
});
