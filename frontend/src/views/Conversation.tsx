/** The prompt of a request, and under it each of its sequences with its blocks' figures and its text as it grows. */

import { selectRequest, selectSequence } from '../store/selection';
import { text } from '../text';
import type { RequestAnswer, SequenceAnswer } from '../worker/answers/request';
import { Said } from './Said';

function Sequence({ answer, each }: { readonly answer: RequestAnswer; readonly each: SequenceAnswer }) {
  const isOn = answer.sequence === each.sequence;
  return (
    <div class={`voice${isOn ? ' on' : ''}`}>
      <div class="line two">
        <button
          type="button"
          class={`link num${isOn ? ' on' : ''}`}
          onClick={() => (isOn ? selectRequest(answer.request) : selectSequence(each.sequence))}
        >
          {each.label}
        </button>
        <span class="num dim">
          {each.blocks > 0
            ? text.inspector.sequence(each.blocks, each.shared, each.tokens)
            : text.said.tokens(each.said?.tokens ?? 0)}
          {answer.n > 1 && each.end !== null && ` · ${text.playground.ends[each.end]}`}
        </span>
      </div>
      <Said
        said={each.said}
        label={each.label}
        kind="sampled"
        grows={answer.state === 'running' && !each.dropped}
      />
    </div>
  );
}

export function Conversation({ answer }: { readonly answer: RequestAnswer }) {
  const { state, prompt, why } = answer.text;
  return (
    <div class="conversation">
      {state === 'none' && <p class="faint quiet">{text.said.notRecorded}</p>}
      {state === 'loading' && <p class="faint quiet">{text.said.loading}</p>}
      {why !== null && <p class="faint quiet">{why}</p>}
      <Said said={prompt} label={text.said.prompt} kind="prompt" />
      {answer.sequences.map((each) => (
        <Sequence key={each.sequence} answer={answer} each={each} />
      ))}
    </div>
  );
}
