import { expect, test } from 'vitest';
import { keepInAddress, partsDiffer, takeParts, writeParts } from './address';

test('what a panel keeps stands in the address, and what it cannot take is told', () => {
  let shown = 'map';
  let zoom = 1;
  keepInAddress({
    name: 'centre',
    now: () => (shown === 'map' ? null : shown),
    take: (said) => {
      shown = said === 'events' ? said : 'map';
      return said === null || said === shown;
    },
    isEntry: true,
  });
  keepInAddress({
    name: 'zoom',
    now: () => (zoom === 1 ? null : String(zoom)),
    take: (said) => {
      zoom = Number(said ?? 1);
      return true;
    },
    isEntry: false,
  });
  const written = (): URLSearchParams => {
    const query = new URLSearchParams('session=a');
    writeParts(query);
    return query;
  };
  const first = written();
  expect(first.toString()).toBe('session=a');
  [shown, zoom] = ['events', 4];
  const second = written();
  expect(second.toString()).toBe('session=a&centre=events&zoom=4');
  expect(partsDiffer(first, second)).toBe(true);
  zoom = 8;
  expect(partsDiffer(second, written())).toBe(false);
  expect(takeParts(first)).toEqual([]);
  expect([shown, zoom]).toEqual(['map', 1]);
  expect(takeParts(second)).toEqual([]);
  expect([shown, zoom]).toEqual(['events', 4]);
  expect(takeParts(new URLSearchParams('centre=cellar'))).toEqual(['centre=cellar']);
  expect(shown).toBe('map');
  expect(() => keepInAddress({ name: 'zoom', now: () => null, take: () => true, isEntry: false })).toThrow(
    'two things are named zoom in the address',
  );
});
