import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CHIP_GAP, CHIP_HEIGHT, CHIP_LINE, elide, linesOf, placesOf, slotAt } from './chips';

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

test('what is under a pointer is what is drawn there, and between two chips there is none', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 4, max: 20 }),
      fc.integer({ min: 2, max: 6 }),
      fc.integer({ min: 37, max: 70 }),
      (length, perLine, lines, chip) => {
        const slots = elide(
          Uint32Array.from({ length }, (_, i) => 1000 + i),
          perLine,
          lines,
        );
        const places = placesOf(slots, perLine);
        slots.forEach((slot, i) => {
          const { column, line } = places[i]!;
          const [x, y] = [column * chip, line * CHIP_LINE];
          for (const [dx, dy] of [
            [0, 0],
            [chip - CHIP_GAP - 1, CHIP_HEIGHT - 1],
          ] as const)
            expect(slotAt(slots, x + dx, y + dy, perLine, chip)).toBe(slot);
          expect(slotAt(slots, x, y + CHIP_HEIGHT, perLine, chip)).toBeNull();
          // The count has no gap within.
          if (!('more' in slot)) expect(slotAt(slots, x + chip - 1, y, perLine, chip)).toBeNull();
          else expect(slotAt(slots, x + 2 * chip - CHIP_GAP - 1, y, perLine, chip)).toBe(slot);
        });
        expect(new Set(places.map(({ column, line }) => `${column} ${line}`)).size).toBe(slots.length);
        expect(Math.max(...places.map(({ line }) => line)) + 1).toBe(linesOf(slots, perLine));
        expect(slotAt(slots, -1, 0, perLine, chip)).toBeNull();
        expect(slotAt(slots, perLine * chip, 0, perLine, chip)).toBeNull();
      },
    ),
  );
});
