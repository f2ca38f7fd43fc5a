import { expect, test } from 'vitest';
import { Pace } from './pace';

/** When a map is drawn whose frames come so long after a drawing, and each 17 ms else, until `end`. */
function drawings(took: (drawing: number) => number, end: number): number[] {
  const pace = new Pace();
  const drawn: number[] = [];
  for (let now = 0; now < end; ) {
    const isOpen = pace.frame(now);
    if (isOpen) {
      pace.drew(now);
      drawn.push(now);
    }
    now += isOpen ? took(drawn.length) : 17;
  }
  return drawn;
}

test('a map that is fast is drawn in every frame, whatever else delays some of them', () => {
  const took = (drawing: number): number => (drawing % 4 === 0 ? 17 : 100);
  const drawn = drawings(took, 4000);
  drawn.forEach((at, i) => {
    if (i > 0) expect(at - drawn[i - 1]!).toBe(took(i));
  });
});

test('a slow map costs at most half of the time', () => {
  const drawn = drawings(() => 60, 6000).slice(8);
  const between = drawn.slice(1).map((at, i) => at - drawn[i]!);
  expect(Math.min(...between)).toBeGreaterThanOrEqual(120);
  expect(Math.max(...between)).toBeLessThan(140);
});
