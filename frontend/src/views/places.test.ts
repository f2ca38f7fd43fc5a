import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placesOf } from './places';

const names = fc.uniqueArray(fc.nat(30), { maxLength: 12 });

test('who stays keeps its place, and who comes takes one that is free, the lowest first', () => {
  fc.assert(
    fc.property(fc.array(names, { minLength: 2, maxLength: 6 }), (lists) => {
      let before = placesOf(lists[0]!, new Map());
      expect([...before.values()]).toEqual(lists[0]!.map((_, i) => i));
      for (const list of lists.slice(1)) {
        const now = placesOf(list, before);
        expect([...now.keys()].sort()).toEqual([...list].sort());
        expect(new Set(now.values()).size).toBe(list.length);
        const stays = list.filter((name) => before.has(name));
        for (const name of stays) expect(now.get(name)).toBe(before.get(name));
        const free = [...Array(99).keys()].filter(
          (place) => !stays.some((name) => before.get(name) === place),
        );
        const came = list.filter((name) => !before.has(name)).map((name) => now.get(name));
        expect(came).toEqual(free.slice(0, came.length));
        before = now;
      }
    }),
  );
});
