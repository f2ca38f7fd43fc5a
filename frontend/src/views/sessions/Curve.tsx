/** How full a session's pool was, at a glance: two areas, one on the other. */

import type { Sketch } from '../../store/collection';
import { text } from '../../text';

const HEIGHT = 24;

type Values = readonly (number | null)[];

/** The outline of what lies below `top`, in pieces where there is a gap. */
export function area(top: Values): string {
  let path = '';
  let begun = false;
  const y = (value: number): string => (HEIGHT - (value * HEIGHT) / 1000).toFixed(1);
  for (let x = 0; x <= top.length; x++) {
    const value = top[x] ?? null;
    if (value !== null) {
      path += begun ? `V${y(value)}h1` : `M${x} ${HEIGHT}V${y(value)}h1`;
      begun = true;
    } else if (begun) {
      path += `V${HEIGHT}Z`;
      begun = false;
    }
  }
  return path;
}

export function Curve({ sketch }: { readonly sketch: Sketch | undefined }) {
  if (sketch === undefined) return <span class="curve" />;
  const used = sketch.used.filter((value) => value !== null);
  if (used.length === 0) return <span class="curve faint">{text.sessions.noStep}</span>;
  const held = sketch.used.map((value, x) => (value === null ? null : value + (sketch.cached[x] ?? 0)));
  const told = text.sessions.usage(Math.max(...used) / 10, used.at(-1)! / 10);
  return (
    <svg
      class="curve"
      role="img"
      aria-label={told}
      viewBox={`0 0 ${sketch.used.length} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <title>{told}</title>
      <path class="held" d={area(held)} />
      <path class="used" d={area(sketch.used)} />
    </svg>
  );
}
