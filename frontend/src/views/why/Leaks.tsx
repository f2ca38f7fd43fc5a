/** Is anything leaking? */

import type { Leak, Leaks as LeaksTold } from '../../store/generated/answers';
import { selectSequence } from '../../store/selection';
import { text } from '../../text';
import { Fact, Life, Told, Whom } from './Told';

const words = text.why.leak;
const HOWS = ['entry', 'pin', 'count'] as const;
/** So many of a kind are shown. */
const MOST = 40;

function One({ leak }: { readonly leak: Leak }) {
  const { sequence, position } = leak;
  return (
    <li class={leak.old ? 'dim' : ''}>
      <Life life={leak.life} />{' '}
      {position !== null && (
        <Told
          words={words.entry(position)}
          parts={{
            who:
              leak.who === null ? (
                <button type="button" class="link" onClick={() => selectSequence(sequence)}>
                  {words.ofSequence(sequence ?? 0)}
                </button>
              ) : (
                <Whom who={leak.who} />
              ),
          }}
        />
      )}
      {leak.old && <span class="faint"> {words.old}</span>}
    </li>
  );
}

export function Leaks({ answer }: { readonly answer: LeaksTold }) {
  const { leaking, leaks, baseline } = answer;
  return (
    <>
      <p class={`because ${leaking === 0 ? 'good' : 'bad'}`}>
        {leaking === 0 ? words.none : words.some(leaking, answer.new, baseline)}
      </p>
      <dl class="pairs">
        <Fact name={words.used}>
          {words.usedThen(answer.used, answer.pool, answer.used_before, baseline)}
        </Fact>
        <Fact name={words.baseline}>{words.baselineTold(baseline)}</Fact>
        {answer.pins > 0 && <Fact name={words.pins}>{words.foreign(answer.pins)}</Fact>}
        {answer.violation !== null && (
          <Fact name={words.violation}>
            <span class="red">{answer.violation}</span>
          </Fact>
        )}
      </dl>
      {HOWS.map((how) => {
        const those = leaks.filter((leak) => leak.how === how);
        return (
          those.length > 0 && (
            <section key={how}>
              <h4>
                {words.hows[how]} <span class="num">{those.length}</span>
              </h4>
              <ul class="leaks">
                {those.slice(0, MOST).map((leak) => (
                  <One key={`${leak.life.block} ${leak.sequence} ${leak.position}`} leak={leak} />
                ))}
              </ul>
              {those.length > MOST && <p class="faint quiet">{text.why.more(those.length - MOST)}</p>}
            </section>
          )
        );
      })}
      {leaks.length < leaking && <p class="faint quiet">{words.cut(leaks.length)}</p>}
    </>
  );
}
