/** Why a request was preempted. */

import type { After, Preemption } from '../../store/generated/answers';
import { text } from '../../text';
import { Holders } from './Holders';
import { At, Fact, Some, Told, Unknown, Whom } from './Told';

const words = text.why.preemption;
const POLICIES: Readonly<Record<string, string>> = words.policies;

function What({ answer }: { readonly answer: Preemption }) {
  const { asked, who, needs, free, pool } = answer;
  const parts = { who: <Whom who={asked} /> };
  if (asked.request === who.request) return <>{words.itself(free, pool)}</>;
  return needs === null ? (
    <Told words={words.gotNone(free, pool)} parts={parts} />
  ) : (
    <Told words={words.needed(needs, free, pool)} parts={parts} />
  );
}

function Afterwards({ after, of }: { readonly after: After; readonly of: number }) {
  const { how, at, steps, hit, tokens } = after;
  if (at === null) return <>{words.waits}</>;
  const kind = how === 'resumed' ? 'admitted' : how;
  return (
    <Told
      words={
        how === 'resumed' ? words.resumed(steps ?? 0, hit ?? 0, tokens ?? 0) : words.ended(how, steps ?? 0)
      }
      parts={{ at: <At at={at} of={`decision:${kind} owner:r${of}`} /> }}
    />
  );
}

export function Preempted({ answer }: { readonly answer: Preemption }) {
  const { who, at, since, thrashing, earlier, others, policy } = answer;
  const of = `decision:preempted owner:r${who.request}`;
  return (
    <>
      <p class="because">
        <What answer={answer} /> {policy !== null && <span class="dim">{POLICIES[policy] ?? policy}</span>}
      </p>
      {thrashing && since !== null && <p class="because bad">{words.thrashes(since.again, since.gained)}</p>}
      <dl class="pairs">
        <Fact name={text.why.eviction.when}>
          <At at={at} of={of} />
        </Fact>
        <Fact name={words.cost}>{words.lost(answer.lost)}</Fact>
        <Fact name={words.gaveBack}>{words.entries(answer.blocks, answer.freed, answer.released)}</Fact>
        {others.length > 0 && (
          <Fact name={words.others}>
            <Some list={others}>{(each) => <Whom who={each} />}</Some>
          </Fact>
        )}
        <Fact name={words.earlier}>
          {earlier.length === 0 ? (
            <span class="dim">{words.first}</span>
          ) : (
            <>
              {words.times(earlier.length)}
              <ul>
                {earlier.slice(0, 5).map((each) => (
                  <li key={each.at.op}>
                    <Told
                      words={words.earlierOne(each.lost)}
                      parts={{ at: <At at={each.at} of={of} />, who: <Whom who={each.asked} /> }}
                    />
                  </li>
                ))}
              </ul>
              {earlier.length > 5 && <p class="faint">{text.why.more(earlier.length - 5)}</p>}
            </>
          )}
        </Fact>
        {since !== null && !thrashing && (
          <Fact name={words.thrashing}>{words.notThrashing(since.again, since.gained)}</Fact>
        )}
        <Fact name={words.after}>
          <Afterwards after={answer.after} of={who.request} />
        </Fact>
        <Unknown told={answer.not_recorded} />
      </dl>
      <Holders list={answer.running} name={text.why.holders.running} marked={who.request} />
    </>
  );
}
