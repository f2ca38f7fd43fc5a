/** The prompt of a request, and under it each of its sequences with its blocks' figures and its text as it grows. */

import { shade, shaded } from '../store/odds';
import { selectRequest, selectSequence } from '../store/selection';
import { text } from '../text';
import type { RequestAnswer, SequenceAnswer } from '../worker/answers/request';
import { Answers } from './Answers';
import { Said } from './Said';
import { Shading } from './TokenCard';

function Sequence({ answer, each }: { readonly answer: RequestAnswer; readonly each: SequenceAnswer }) {
  const isOn = answer.sequence === each.sequence;
  const isBeam = answer.beamWidth !== null;
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
          {answer.n > 1 && each.end !== null && ` · ${text.ending(each.end.reason, each.end.by)}`}
          {isBeam && each.parent !== null && ` · ${text.beams.of(each.parent)}`}
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
  const { beamWidth, sequences } = answer;
  return (
    <div class="conversation">
      {state === 'none' && <p class="faint quiet">{text.said.notRecorded}</p>}
      {state === 'loading' && <p class="faint quiet">{text.said.loading}</p>}
      {why !== null && <p class="faint quiet">{why}</p>}
      <Said said={prompt} label={text.said.prompt} kind="prompt" />
      {sequences.some(({ said }) => said?.odds != null) && <Shading on={shaded.value} onChange={shade} />}
      {beamWidth !== null && (
        <>
          <Answers answer={answer} only={null} />
          {answer.ending === null && (
            <div class="head">
              <h2>{text.beams.title}</h2>
              <span class="note num">{text.beams.live(sequences.length, beamWidth)}</span>
            </div>
          )}
        </>
      )}
      {sequences.map((each) => (
        <Sequence key={each.sequence} answer={answer} each={each} />
      ))}
    </div>
  );
}
