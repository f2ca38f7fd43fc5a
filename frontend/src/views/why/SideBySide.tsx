/** A request's text beside the nearest one that was cached, with the place where the two part. */

import type { Nearest } from '../../store/generated/answers';
import { text } from '../../text';
import { parted } from './parted';

const words = text.why.miss;

function Side({
  name,
  same,
  other,
}: {
  readonly name: string;
  readonly same: string;
  readonly other: string;
}) {
  return (
    <div>
      <b>{name}</b>
      <p class="num">
        <span class="dim">{same}</span>
        <mark>{other}</mark>
      </p>
    </div>
  );
}

export function SideBySide({ nearest }: { readonly nearest: Nearest }) {
  const { own, cached, first, agree } = nearest;
  if (own === null || cached === null || first === null || agree === null) return null;
  const { same, left, right } = parted(nearest);
  const [here, there] = [own[agree - first], cached[agree - first]];
  return (
    <figure class="sides">
      <figcaption class="faint">
        {words.from(first)}
        {here !== undefined && there !== undefined && ` · ${words.parts(here, there)}`}
      </figcaption>
      <Side name={words.own} same={same} other={left} />
      <Side name={words.cached} same={same} other={right} />
    </figure>
  );
}
