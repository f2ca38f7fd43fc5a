import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ById } from './byId';

test('holds what a map holds, for ids that follow each other and for any other', () => {
  const ids = fc.oneof(fc.nat(300), fc.integer({ min: 2 ** 32 - 200, max: 2 ** 32 - 1 }));
  fc.assert(
    fc.property(fc.array(fc.tuple(ids, fc.nat())), fc.array(ids), (pairs, gone) => {
      const map = new Map<number, { value: number }>();
      const byId = new ById<{ value: number }>();
      for (const [id, value] of pairs) {
        expect(byId.has(id)).toBe(map.has(id));
        map.set(id, { value });
        byId.set(id, { value });
        expect(byId.get(id)).toEqual({ value });
      }
      expect(byId.size).toBe(map.size);
      expect(new Map(byId)).toEqual(map);
      for (const id of [...gone, ...pairs.slice(0, 3).map(([id]) => id)]) {
        map.delete(id);
        byId.delete(id);
        expect(byId.has(id)).toBe(false);
      }
      expect(byId.size).toBe(map.size);
      expect(new Map(byId)).toEqual(map);
      byId.set(7, { value: 1 });
      expect(byId.get(7)).toEqual({ value: 1 });
    }),
  );
});
