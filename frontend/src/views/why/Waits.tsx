/** Why a request waits. */

import type { Reason, Wait } from '../../store/generated/answers';
import { text } from '../../text';
import { Holders } from './Holders';
import { At, Fact, Some, Told, Unknown, Whom } from './Told';

const words = text.why.wait;

function Because({ reason }: { readonly reason: Reason }) {
  const { needs, free, largest, behind } = reason;
  switch (reason.reason) {
    case 'blocks':
      return <>{words.blocks(needs ?? 0, free ?? 0)}</>;
    case 'fragmentation':
      return <>{words.fragmentation(needs ?? 0, free ?? 0, largest ?? 0)}</>;
    case 'behind':
      return <Told words={words.behind} parts={{ who: <Whom who={behind} /> }} />;
    case 'budget':
    case 'max_num_seqs':
      return <>{words[reason.reason]}</>;
    default:
      return <>{words.otherwise(reason.reason)}</>;
  }
}

const at = (reason: Reason, of: number) => <At at={reason.at} of={`decision:waiting owner:r${of}`} />;

/** How much of something is used up. */
function Meter({
  name,
  part,
  whole,
  said,
}: {
  readonly name: string;
  readonly part: number;
  readonly whole: number;
  readonly said: string;
}) {
  return (
    <Fact name={name}>
      {said}
      <div class="track">
        <span style={{ width: `${Math.min(100, (100 * part) / Math.max(1, whole))}%` }} />
      </div>
    </Fact>
  );
}

export function Waits({ answer }: { readonly answer: Wait }) {
  const { who, reason, head, head_reason, ahead, since } = answer;
  const isNext = answer.ahead_in_all === 0;
  return (
    <>
      <p class="because">
        {reason === null ? words.none : <Because reason={reason} />}
        {reason !== null && (
          <span class="dim">
            {' ('}
            <Told words={words.loggedAt} parts={{ at: at(reason, who.request) }} />)
          </span>
        )}
      </p>
      <dl class="pairs">
        {since !== null && (
          <Fact name={words.states[answer.state as 'waiting' | 'preempted']}>
            <Told
              words={words.sinceAt(answer.steps ?? 0)}
              parts={{
                at: (
                  <At
                    at={since}
                    of={`decision:${answer.state === 'waiting' ? 'submitted' : 'preempted'} owner:r${who.request}`}
                  />
                ),
              }}
            />
          </Fact>
        )}
        <Fact name={words.ahead}>
          {isNext ? (
            words.next
          ) : (
            <>
              {answer.ahead_in_all}: <Some list={ahead}>{(each) => <Whom who={each} />}</Some>
            </>
          )}
        </Fact>
        {!isNext && (
          <Fact name={words.head}>
            <Whom who={head} />
            {head_reason !== null && (
              <>
                {': '}
                <Because reason={head_reason} /> <span class="dim">{at(head_reason, head.request)}</span>
              </>
            )}
          </Fact>
        )}
        {answer.preempted.length > 0 && (
          <Fact name={words.preempted}>
            <Told
              words={words.preemptedTold}
              parts={{ who: <Some list={answer.preempted}>{(each) => <Whom who={each} />}</Some> }}
            />
          </Fact>
        )}
        <Meter
          name={words.free}
          part={answer.free}
          whole={answer.pool}
          said={words.blocksOf(answer.free, answer.pool)}
        />
        <Meter
          name={words.tokens}
          part={answer.tokens}
          whole={answer.budget}
          said={words.ofBudget(answer.tokens, answer.budget)}
        />
        {answer.max_num_seqs === null ? (
          <Fact name={words.sequences}>{answer.sequences}</Fact>
        ) : (
          <Meter
            name={words.sequences}
            part={answer.sequences}
            whole={answer.max_num_seqs}
            said={words.ofMost(answer.sequences, answer.max_num_seqs)}
          />
        )}
        <Unknown told={answer.not_recorded} />
      </dl>
      <Holders list={answer.running} name={text.why.holders.runs} />
    </>
  );
}
