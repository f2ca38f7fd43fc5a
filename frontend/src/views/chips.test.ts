import fc from 'fast-check';
import { expect, test } from 'vitest';
import { elide } from './chips';

test('a table that fits is shown whole; a longer one keeps its first line and its end', () => {
  fc.assert(
    fc.property(
      fc.nat(400),
      fc.integer({ min: 4, max: 20 }),
      fc.integer({ min: 2, max: 6 }),
      (length, perLine, lines) => {
        const blocks = Uint32Array.from({ length }, (_, i) => 1000 + i);
        const slots = elide(blocks, perLine, lines);
        const more = slots.flatMap((slot) => ('more' in slot ? [slot.more] : []));
        const shown = slots.flatMap((slot) => ('more' in slot ? [] : [slot]));
        expect(shown.every((slot) => slot.block === 1000 + slot.position)).toBe(true);
        expect(shown.length + (more[0] ?? 0)).toBe(length);
        if (length <= perLine * lines) expect(more).toEqual([]);
        else {
          expect(more.length).toBe(1);
          // The count takes the room of two chips.
          expect(slots.length + 1).toBe(perLine * lines);
          expect(shown.at(-1)!.position).toBe(length - 1);
        }
      },
    ),
  );
});
