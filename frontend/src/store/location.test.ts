// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest';

vi.stubGlobal(
  'Worker',
  class {
    postMessage() {}
  },
);
const { destinationOf, readPlace, writePlace, wrongNames, wrongStep } = await import('./location');
const { wrongWish } = await import('./wish');

test('an address is read as it was written, and a step that is none is noticed', () => {
  const place = {
    session: 'a b',
    step: 7,
    op: null,
    block: null,
    sequence: 3,
    request: null,
    wish: { text: true, rate: null },
  };
  expect(readPlace(writePlace(place))).toEqual(place);
  for (const said of ['-5', '1.5', 'x', '1e3']) {
    expect(wrongStep(`?step=${said}`)).toBe(said);
    expect(readPlace(`?step=${said}`).step).toBeNull();
  }
  for (const address of ['', '?step=', '?step=0', '?step=12&block=3']) expect(wrongStep(address)).toBeNull();
});

test('an address leads to a step, or within it behind an operation', () => {
  const leads = (address: string): unknown => destinationOf(readPlace(address));
  expect(leads('?step=7')).toEqual({ kind: 'step', step: 7 });
  expect(leads('?step=7&op=71')).toEqual({ kind: 'operation', operation: 71, step: 7 });
  expect(leads('?op=71')).toEqual({ kind: 'operation', operation: 71 });
  expect(leads('?step=0&op=-1')).toEqual({ kind: 'operation', operation: -1, step: 0 });
  expect(leads('?op=x')).toBeNull();
  const place = { ...readPlace('?session=a&step=0&op=-1'), block: 3 };
  expect(readPlace(writePlace(place))).toEqual(place);
});

test('an address says what is asked for of a live session, and keeps it', () => {
  const place = readPlace('?session=a&text=none&rate=0.5');
  expect(place.wish).toEqual({ text: false, rate: 0.5 });
  expect(writePlace(place)).toBe('?session=a&text=none&rate=0.5');
  for (const said of ['rate=0', 'rate=61', 'rate=x', 'rate=1e1', 'text=some', 'rate=-4']) {
    expect(wrongWish(`?${said}`)).toBe(said);
    expect(readPlace(`?${said}`).wish).toEqual({ text: true, rate: null });
  }
  for (const address of ['', '?text=none&rate=60', '?text=full&rate=0.1'])
    expect(wrongWish(address)).toBeNull();
});

test('each part of an address that names nothing is told, in one remark', () => {
  expect(wrongNames('?session=a&op=x&block=-1&seq=1.5&request=r99999&lang=xx')).toEqual([
    'op=x',
    'block=-1',
    'seq=1.5',
    'request=r99999',
    'lang=xx',
  ]);
  expect(wrongNames('?session=a&step=0&op=-1&block=7&seq=3&request=9&lang=vi')).toEqual([]);
});
