/** Why the prefix of a request missed. */

import type { ComponentChildren } from 'preact';
import type { Held, Loss, Miss, Pending } from '../../store/generated/answers';
import { aboutEviction, pose } from '../../store/why';
import { text } from '../../text';
import { SideBySide } from './SideBySide';
import { At, Fact, Life, Some, Told, Unknown, Whom } from './Told';

const words = text.why.miss;
const KEYS: Readonly<Record<string, string>> = words.key;

function keysOf(keys: Miss['keys']): string {
  const told = (keys ?? []).flatMap(([name = '', value]) =>
    value === undefined ? [] : [`${KEYS[name] ?? name} “${value}”`],
  );
  return told.length === 0 ? words.noKeys : told.join(', ');
}

function Because({ answer }: { readonly answer: Miss }) {
  const { reason, hit, tokens, block_size: size, evicted, unlabelled, other_key, nearest } = answer;
  const left = tokens - hit;
  switch (reason) {
    case 'short':
      return <>{hit > 0 ? words.short(left, size) : words.shortAll(size)}</>;
    case 'cap':
      return <>{words.cap(left)}</>;
    case 'evicted':
      return evicted === null ? (
        <span>{words.evictedUnknown}</span>
      ) : (
        <Told words={words.evicted} parts={{ life: <Life life={evicted.life} /> }} />
      );
    case 'unlabelled':
      return <Told words={words.unlabelled} parts={{ who: <Whom who={unlabelled?.who ?? null} /> }} />;
    case 'other_key':
      return (
        <Told
          words={words.other_key}
          parts={{ theirs: <b>{keysOf(other_key?.keys ?? null)}</b>, own: <b>{keysOf(answer.keys)}</b> }}
        />
      );
    case 'diverges':
      return <>{nearest?.agree == null ? words.divergesUnknown(hit) : words.diverges(nearest.agree)}</>;
    case 'never_seen':
      return <>{words.never_seen(hit)}</>;
    default:
      return <>{words[reason]}</>;
  }
}

/** The request's tokens as a line: what was hit, and the block that was missed. */
function Line({ answer }: { readonly answer: Miss }) {
  const { hit, first, end, tokens } = answer;
  const share = (count: number): string => `${(100 * count) / Math.max(1, tokens)}%`;
  const told = words.line(hit, first ?? hit, end ?? hit, tokens);
  return (
    <div class="queueline prompt" role="img" aria-label={told} title={told}>
      <i class="hit" style={{ width: share(hit) }} />
      {first !== null && end !== null && (
        <i class="this" style={{ left: share(first), width: share(end - first) }} />
      )}
    </div>
  );
}

function Lost({ loss }: { readonly loss: Loss }) {
  const { at, life, cause, asked, labelled } = loss;
  return (
    <>
      <Fact name={words.lost}>
        <Told
          words={asked === null ? words.lostAt(cause) : words.lostFor(cause)}
          parts={{
            life: <Life life={life} />,
            at: <At at={at} of={`op:evict block:${life.block}`} />,
            who: <Whom who={asked} />,
          }}
        />{' '}
        <button type="button" class="link" onClick={() => pose(aboutEviction(at.op))}>
          {words.whyEvicted}
        </button>
      </Fact>
      {labelled !== null && (
        <Fact name={words.labelled}>
          <At at={labelled} of={`op:cache block:${life.block}`} />
          <span class="dim">, {words.kept(at.step - labelled.step)}</span>
        </Fact>
      )}
    </>
  );
}

function Filling({ told, size }: { readonly told: Pending; readonly size: number }) {
  return (
    <Fact name={words.filling}>
      <Told
        words={words.filled(told.filled, size)}
        parts={{
          life: <Life life={told.life} />,
          who: <Whom who={told.who} />,
          at: <At at={told.labelled} of={`op:cache block:${told.life.block}`} />,
        }}
      />
    </Fact>
  );
}

/** What held a content, and where it came from. */
function Holding({ held }: { readonly held: Held }): ComponentChildren {
  const { life, who, labelled, lost, content } = held;
  return (
    <>
      {labelled !== null && (
        <>
          <Told
            words={words.labelledBy}
            parts={{ who: <Whom who={who} />, at: <At at={labelled} of={`op:cache content:${content}`} /> }}
          />
          {', '}
        </>
      )}
      {life !== null ? (
        <Told words={words.heldBy} parts={{ life: <Life life={life} /> }} />
      ) : lost === null ? (
        words.gone
      ) : (
        <Told words={words.goneAt} parts={{ at: <At at={lost} of={`op:evict content:${content}`} /> }} />
      )}
    </>
  );
}

export function Missed({ answer }: { readonly answer: Miss }) {
  const { who, at, hit, tokens, block, first, end, evicted, unlabelled, other_key, nearest } = answer;
  const of = `decision:admitted owner:r${who.request}`;
  return (
    <>
      <p class="because">
        <Because answer={answer} />
      </p>
      {nearest !== null && nearest.agree !== null && <SideBySide nearest={nearest} />}
      <dl class="pairs">
        <Fact name={words.admitted}>
          <At at={at} of={of} />
          {answer.resumed && `, ${words.resumed}`}
        </Fact>
        <Fact name={words.hit}>
          {words.ofTokens(hit, tokens)}
          <Line answer={answer} />
        </Fact>
        <Fact name={words.missed}>
          {block === null || first === null || end === null
            ? words.nothing
            : words.block(block, first, end - 1)}
          {answer.capped && <p class="dim">{words.capped}</p>}
        </Fact>
        {evicted !== null && <Lost loss={evicted} />}
        {answer.behind !== null && answer.behind > 0 && (
          <Fact name={words.behind}>{words.behindTold(answer.behind)}</Fact>
        )}
        {unlabelled !== null && <Filling told={unlabelled} size={answer.block_size} />}
        {other_key !== null && (
          <Fact name={words.otherKeys}>
            {keysOf(other_key.keys)}: <Holding held={other_key.held} />
          </Fact>
        )}
        {nearest !== null && (
          <Fact name={words.nearest}>
            {nearest.agree !== null && (
              <>{words.agrees(nearest.agree, nearest.agree % answer.block_size)}; </>
            )}
            <Holding held={nearest.held} />
          </Fact>
        )}
        {answer.others.length > 0 && (
          <Fact name={words.others}>
            <Some list={answer.others} most={5}>
              {(each) => (
                <>
                  <At at={each.at} of={of} /> <span class="dim">{words.ofTokens(each.hit, each.tokens)}</span>
                </>
              )}
            </Some>
          </Fact>
        )}
        {answer.missed !== null && (
          <Fact name={words.hash}>
            <span class="num faint hash">{answer.missed}</span>
          </Fact>
        )}
        <Unknown told={answer.not_recorded} />
      </dl>
    </>
  );
}
