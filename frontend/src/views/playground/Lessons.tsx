/** The lessons: choose one, read what it shows, and run it on an engine of its own. */

import { useEffect } from 'preact/hooks';
import { language } from '../../language';
import { captions } from '../../store/captions';
import { isEmbedded } from '../../store/embedded';
import {
  chosen,
  loadProgramme,
  programme,
  startError,
  starting,
  startScenario,
  watch,
} from '../../store/scenarios';
import { text } from '../../text';
import { LESSONS, titleOf, toldOf } from '../../wording/lessons';
import { LanguageField } from '../Caption';

const words = text.scenarios;

/** How long until the server is asked again which one runs. */
const ASK_AGAIN_MS = 3000;

export function Lessons() {
  useEffect(() => {
    void loadProgramme();
    const timer = setInterval(() => {
      if (programme.peek()?.running != null) void loadProgramme();
    }, ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const told = programme.value;
  // Whoever can start none may read of them all the same.
  const names = told !== null && told.scenarios.length > 0 ? told.scenarios : Object.keys(LESSONS);
  const wanted = chosen.value ?? captions.value[0]?.scenario;
  const name = names.find((each) => each === wanted) ?? names[0]!;
  const running = told?.running ?? null;
  const canStart = told !== null && told.why_not === null && running === null && !starting.value;
  return (
    <section class="lessons" aria-label={words.title}>
      <div class="head divider">
        <h2>{words.title}</h2>
        <span class="space" />
        <LanguageField />
      </div>
      <div class="choice" lang={language}>
        <select
          aria-label={words.choose}
          value={name}
          onChange={(event) => {
            chosen.value = event.currentTarget.value;
          }}
        >
          {names.map((each) => (
            <option key={each} value={each}>
              {titleOf(each, language)}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="btn"
          disabled={!canStart}
          title={starting.value ? words.startingTitle : words.explain}
          onClick={() => void startScenario(name)}
        >
          {starting.value ? words.starting : words.run}
        </button>
      </div>
      <p class="quiet told" lang={language}>
        {toldOf(name, language)}
      </p>
      {running !== null && (
        <p class="quiet" role="status">
          {words.running(titleOf(running.name, language))}{' '}
          {running.session !== null && (
            <button type="button" class="link" onClick={() => void watch(running.session!)}>
              {words.watch}
            </button>
          )}
        </p>
      )}
      {(isEmbedded || told?.why_not != null) && (
        <p class="quiet faint">
          {told?.why_not != null && `${words.why(told.why_not)} `}
          {words.command} <code>kvarium scenario {name}</code>
        </p>
      )}
      {startError.value !== null && (
        <p class="wrong" role="alert">
          {words.failed(startError.value)}
        </p>
      )}
    </section>
  );
}
