/** The caption of a scenario at the step that is shown, with the way to the next one and back. */

import { integer } from '../format';
import { LANGUAGES, language, NAMES } from '../language';
import { captions, saidAt, turnCaption } from '../store/captions';
import { jump } from '../store/clock';
import { position } from '../store/ledger';
import { speakHere } from '../store/location';
import { text } from '../text';
import { titleOf } from '../wording/lessons';

const words = text.scenarios;

/** Which language is spoken, and the others. */
export function LanguageField() {
  return (
    <select
      class="language"
      aria-label={words.language}
      title={words.languageTitle}
      value={language}
      onChange={(event) => speakHere(event.currentTarget.value as typeof language)}
    >
      {LANGUAGES.map((each) => (
        <option key={each} value={each} lang={each}>
          {NAMES[each]}
        </option>
      ))}
    </select>
  );
}

export function Caption() {
  const all = captions.value;
  const first = all[0];
  if (first === undefined) return null;
  const at = saidAt.value;
  const said = all[at];
  const isHere = said !== undefined && said.step === position.value.step;
  return (
    <section class={`caption${isHere ? ' here' : ''}`} aria-label={words.caption}>
      <b class="lesson" lang={language}>
        {titleOf(first.scenario, language)}
      </b>
      <span class="turns">
        <button
          type="button"
          class="plain"
          aria-label={words.previous}
          title={words.previous}
          disabled={at < 1}
          onClick={() => turnCaption(-1)}
        >
          ‹
        </button>
        <span class="num dim">{words.of(said?.number ?? 0, first.of)}</span>
        <button
          type="button"
          class="plain"
          aria-label={words.next}
          title={words.next}
          disabled={at + 1 >= all.length}
          onClick={() => turnCaption(1)}
        >
          ›
        </button>
      </span>
      <p aria-live="polite" lang={language}>
        {said?.text ?? words.before}
      </p>
      {said !== undefined && (
        <button type="button" class="link num" title={words.atTitle} onClick={() => jump(said.step)}>
          {words.at(integer(said.step))}
        </button>
      )}
      <LanguageField />
    </section>
  );
}
