/** What a beam search has found: whole answers, best first; those behind the n best are pale. */

import { jump } from '../store/clock';
import { text } from '../text';
import type { RequestAnswer } from '../worker/answers/request';
import { Said } from './Said';

const words = text.beams;
/** Those behind these are told by their number alone. */
const MOST = 24;

interface Props {
  readonly answer: RequestAnswer;
  /** Not more than these; null: those behind the n best too. */
  readonly only: number | null;
}

export function Answers({ answer, only }: Props) {
  const { answers, n } = answer;
  const most = only ?? MOST;
  return (
    <section class="answers" aria-label={words.answers}>
      <div class="head">
        <h2>{words.answers}</h2>
        <span class="note num">{answers.length === 0 ? '' : words.found(answers.length, n)}</span>
      </div>
      {answers.length === 0 && <p class="faint quiet">{words.noneFound}</p>}
      {answers.slice(0, most).map((each) => (
        <div
          key={`${each.sequence} ${each.step} ${each.rank}`}
          class={`voice${each.rank < n ? '' : ' beyond'}`}
          title={each.rank < n ? undefined : words.rest}
        >
          <div class="line answer">
            <b class="num">{words.rank(each.rank)}</b>
            <span class="num" title={words.scoreTitle}>
              {words.score(each.score)}
            </span>
            <button type="button" class="link num" onClick={() => jump(each.step)}>
              {words.row(each.tokens, each.reason, each.step)}
            </button>
            <span class="num dim">{each.label}</span>
          </div>
          <Said said={each.said} label={`${words.answers} ${words.rank(each.rank)}`} kind="sampled" />
        </div>
      ))}
      {answers.length > MOST && <p class="faint quiet">{text.inspector.more(answers.length - MOST)}</p>}
    </section>
  );
}
