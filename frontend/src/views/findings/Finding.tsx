/** A finding: its sentence, what was measured and from what on it is one, what to change, and the events that prove it. */

import { useState } from 'preact/hooks';
import type { Finding as Told } from '../../store/generated/answers';
import { text } from '../../text';
import { nameOfMeasure, nameOfThresholds, valueOfMeasure } from './names';
import { Proof } from './Proof';

const words = text.findings;
/** So many events are shown at first. */
const FIRST = 3;

/** The sentence, which begins with the finding's name. */
function Sentence({ told }: { readonly told: string }) {
  const end = told.indexOf(': ');
  if (end < 0) return <p class="sentence">{told}</p>;
  return (
    <p class="sentence">
      <b>{told.slice(0, end)}</b>
      {told.slice(end)}
    </p>
  );
}

function Measures({ finding }: { readonly finding: Told }) {
  return (
    <dl class="measures">
      {Object.entries(finding.measured).map(([name, value]) => (
        <div key={name}>
          <dt class="faint">{nameOfMeasure(name)}</dt>
          <dd class="num">{valueOfMeasure(name, value)}</dd>
        </div>
      ))}
      <div class="threshold">
        <dt class="faint">{words.from}</dt>
        <dd>{nameOfThresholds(finding.thresholds)}</dd>
      </div>
    </dl>
  );
}

function Settings({ finding }: { readonly finding: Told }) {
  return (
    <ul class="settings">
      {finding.settings.map((setting) => (
        <li key={setting.name}>
          <code class="num">{setting.name}</code>{' '}
          {setting.now !== null && <span class="num faint">({words.now(String(setting.now))})</span>}{' '}
          {words.advice(finding, setting)}
        </li>
      ))}
    </ul>
  );
}

export function Finding({ finding }: { readonly finding: Told }) {
  const [areAllShown, showAll] = useState(false);
  const { evidence, in_all } = finding;
  const shown = areAllShown ? evidence : evidence.slice(0, FIRST);
  return (
    <article class="finding">
      <Sentence told={words.told(finding)} />
      <Measures finding={finding} />
      <Settings finding={finding} />
      <ol class="proofs">
        {shown.map((each, place) => (
          <Proof key={place} finding={finding} evidence={each} />
        ))}
      </ol>
      <p class="faint">
        {words.evidence(evidence.length, in_all)}
        {evidence.length > FIRST && (
          <>
            {' · '}
            <button
              type="button"
              class="link"
              aria-expanded={areAllShown}
              onClick={() => showAll(!areAllShown)}
            >
              {areAllShown ? words.fewer : words.all(evidence.length)}
            </button>
          </>
        )}
      </p>
    </article>
  );
}
