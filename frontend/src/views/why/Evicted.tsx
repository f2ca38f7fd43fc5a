/** Why a block was evicted. */

import type { Eviction, Queue as QueueTold, Want } from '../../store/generated/answers';
import { text } from '../../text';
import { At, Fact, Life, RecordLink, Some, Told, Unknown, Whom } from './Told';

const words = text.why.eviction;
const CAUSES: Readonly<Record<string, string>> = {
  reset: words.reset,
  failed_step: words.failed_step,
  unscheduled: words.unscheduled,
};

/** The free queue as a line, and where in it the block stood. */
function Queue({ told }: { readonly told: QueueTold }) {
  const { length, before, taken, passed_over, empty, empty_before, head, head_content } = told;
  const share = (count: number): string => `${(100 * count) / Math.max(1, length)}%`;
  const said = [
    before === 0 ? words.first : words.before(before),
    ...(taken > 0 ? [words.taken(taken)] : []),
    ...(passed_over > 0 ? [words.passedOver(passed_over)] : []),
  ];
  return (
    <>
      <Fact name={words.queue}>
        {words.length(length)}: {said.join(', ')}
        <div class="queueline" role="img" aria-label={words.queueTitle(length, before)}>
          <i class="before" style={{ width: share(before) }} />
          <i class="this" style={{ left: share(before), width: share(1) }} />
        </div>
        {empty > empty_before && <p class="warn">{words.empty(empty - empty_before)}</p>}
      </Fact>
      {before > 0 && (
        <Fact name={words.queueHead}>
          <Life life={head} />{' '}
          <span class="dim">{head_content === null ? words.heldNothing : words.held(head_content)}</span>
        </Fact>
      )}
    </>
  );
}

function Wanted({ want, content }: { readonly want: Want; readonly content: number }) {
  const who = <Whom who={want.who} />;
  const { life } = want;
  const where = life === null ? '' : <Life life={life} />;
  const inBlock = life === null ? 'op:any' : `block:${life.block}`;
  return (
    <li>
      <b class={want.how === 'hit' ? 'green' : 'warn'}>{words.hows[want.how]}</b>{' '}
      {want.how === 'missed' ? (
        <>
          <Told
            words={words.missed}
            parts={{ who, at: <At at={want.at} of={`decision:admitted owner:r${want.who?.request}`} /> }}
          />
          {want.resumed && `, ${words.resumed}`}
          {want.computed !== null && (
            <>
              {', '}
              <Told
                words={words.recomputed}
                parts={{ life: where, at: <At at={want.computed} of={`op:cache content:${content}`} /> }}
              />
            </>
          )}
        </>
      ) : (
        <Told
          words={want.how === 'hit' ? words.hitIn : words.computed}
          parts={{ who, life: where, at: <At at={want.at} of={inBlock} /> }}
        />
      )}
    </li>
  );
}

export function Evicted({ answer }: { readonly answer: Eviction }) {
  const { life, at, cause, asked, queue, idle, command } = answer;
  const isHead = queue?.before === 0;
  return (
    <>
      <p class="because">
        {cause === 'allocate' ? (
          <Told
            words={isHead ? words.head(answer.needed) : words.allocate(answer.needed)}
            parts={{ who: <Whom who={asked} /> }}
          />
        ) : (
          (CAUSES[cause] ?? words.otherwise(cause))
        )}
      </p>
      <dl class="pairs">
        <Fact name={words.when}>
          <At at={at} of={`op:evict block:${life.block}`} />
        </Fact>
        <Fact name={words.lost}>
          <span class="num">{words.content(answer.content)}</span>
        </Fact>
        {command !== null && (
          <Fact name={words.asked}>
            <RecordLink record={command.record}>
              {words.command(command.name, command.asked_by || words.unnamed)}
            </RecordLink>
          </Fact>
        )}
        {queue === null ? <Fact name={words.queue}>{words.inUse}</Fact> : <Queue told={queue} />}
        {idle !== null && (
          <Fact name={words.idle}>
            {text.why.span(idle.steps, idle.ns)}
            <span class="dim">
              {', '}
              <Told
                words={words.idleSince(idle.operation)}
                parts={{ at: <At at={idle.since} of={`op:${idle.operation} block:${life.block}`} /> }}
              />
            </span>
          </Fact>
        )}
        <Fact name={words.hits}>
          {answer.hits === 0 ? words.neverHit : words.hit(answer.hits)}
          {answer.hit_by.length > 0 && (
            <>
              {': '}
              <Some list={answer.hit_by} most={5}>
                {(hit) => (
                  <>
                    <Whom who={hit.who} /> <At at={hit.at} of={`op:${hit.operation} block:${life.block}`} />
                  </>
                )}
              </Some>
            </>
          )}
        </Fact>
        <Fact name={words.copies}>
          {answer.copies.length === 0 ? (
            <span class="dim">{words.noCopy}</span>
          ) : (
            <Told
              words={words.copiesTold}
              parts={{ lives: <Some list={answer.copies}>{(copy) => <Life life={copy} />}</Some> }}
            />
          )}
        </Fact>
        <Fact name={words.wanted}>
          {answer.wanted_in_all === 0 ? (
            words.notWanted(answer.through)
          ) : (
            <>
              {words.wantedBy(answer.wanted_in_all)}
              <ul class="wants">
                {answer.wanted.map((want) => (
                  <Wanted key={want.at.op} want={want} content={answer.content} />
                ))}
              </ul>
              {answer.wanted_in_all > answer.wanted.length && (
                <p class="faint">{text.why.more(answer.wanted_in_all - answer.wanted.length)}</p>
              )}
            </>
          )}
        </Fact>
        <Unknown told={answer.not_recorded} />
      </dl>
    </>
  );
}
