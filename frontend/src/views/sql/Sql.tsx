/** SQL: a query over the open recording, its tables beside it, and the rows that answer it. */

import { useEffect, useReducer, useRef } from 'preact/hooks';
import {
  draft,
  type Guide,
  guide,
  history,
  LIMITS,
  limit,
  loadGuide,
  offsetOf,
  outcome,
  run,
  type Spot,
  schemaShown,
  stop,
} from '../../store/sql';
import { text } from '../../text';
import { Answer } from './Answer';
import { Schema } from './Schema';

/** A long query in one line of a menu. */
function inOneLine(sql: string): string {
  const line = sql.replace(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

/** A worked question as a query that says what it asks. */
function withRemark({ title, about, sql }: Guide['questions'][number]): string {
  return [`-- ${title}`, ...(about === '' ? [] : [`-- ${about}`]), sql].join('\n');
}

/** A menu whose choice is put into the query. */
function Menu(props: {
  readonly label: string;
  readonly title: string;
  readonly none: string;
  readonly choices: readonly { readonly said: string; readonly sql: string }[];
  readonly onChoose: () => void;
}) {
  return (
    <select
      aria-label={props.label}
      title={props.label}
      value=""
      onChange={(event) => {
        const { sql } = props.choices[Number(event.currentTarget.value)]!;
        event.currentTarget.value = '';
        draft.value = sql;
        props.onChoose();
      }}
    >
      <option value="">{props.title}</option>
      {props.choices.length === 0 && <option disabled>{props.none}</option>}
      {/* Queries, and the questions of docs/sql.md, are in English whatever the page speaks. */}
      {props.choices.map(({ said }, place) => (
        <option key={said} value={place} lang="en">
          {said}
        </option>
      ))}
    </select>
  );
}

function Running({ began }: { readonly began: number }) {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => again(undefined as never), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="told dim" role="status">
      <span class="spinner" aria-hidden="true" />
      {text.sql.running(Math.floor((performance.now() - began) / 1000))}
    </p>
  );
}

function Failed(props: {
  readonly sql: string;
  readonly reason: string;
  readonly spot: Spot | null;
  readonly onGo: (from: number) => void;
}) {
  const { sql, spot } = props;
  const line = spot === null ? undefined : sql.split('\n')[spot.line - 1];
  return (
    <div class="fault" role="alert">
      <p class="red">{props.reason}</p>
      {spot !== null && line !== undefined && (
        <>
          <pre class="num">
            {line}
            {'\n'}
            {' '.repeat(spot.column - 1)}^
          </pre>
          {draft.value.trim() === sql && (
            <button type="button" class="link" onClick={() => props.onGo(offsetOf(sql, spot))}>
              {text.sql.goThere(spot.line, spot.column)}
            </button>
          )}
        </>
      )}
    </div>
  );
}

export function Sql() {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => void loadGuide(), []);
  const told = guide.value;
  const known = typeof told === 'string' ? null : told;
  const came = outcome.value;
  const isRunning = came.state === 'running';
  const toField = (): void => queueMicrotask(() => field.current?.focus());
  const insert = (name: string): void => {
    const element = field.current;
    if (element === null) return;
    element.focus();
    element.setRangeText(name, element.selectionStart, element.selectionEnd, 'end');
    draft.value = element.value;
  };
  const goTo = (from: number): void => {
    const begin = from + draft.peek().length - draft.peek().trimStart().length;
    field.current?.focus();
    field.current?.setSelectionRange(
      begin,
      begin + (/^\w+/.exec(draft.peek().slice(begin))?.[0].length ?? 1),
    );
  };
  return (
    <div class="sql">
      <div class="filters" role="toolbar" aria-label={text.panels.sql}>
        <Menu
          label={text.sql.questions}
          title={text.sql.question}
          none=""
          choices={(known?.questions ?? []).map((each) => ({ said: each.title, sql: withRemark(each) }))}
          onChoose={toField}
        />
        <Menu
          label={text.sql.history}
          title={text.sql.before}
          none={text.sql.noneBefore}
          choices={history.value.map((sql) => ({ said: inOneLine(sql), sql }))}
          onChoose={toField}
        />
        <span class="space" />
        <button
          type="button"
          class="plain"
          aria-pressed={schemaShown.value}
          title={text.sql.tablesTitle}
          onClick={() => {
            schemaShown.value = !schemaShown.value;
          }}
        >
          {text.sql.tables}
        </button>
        <select
          aria-label={text.sql.limit}
          title={text.sql.limit}
          value={limit.value}
          onChange={(event) => {
            limit.value = Number(event.currentTarget.value);
          }}
        >
          {LIMITS.map((rows) => (
            <option key={rows} value={rows}>
              {text.sql.rows(rows)}
            </option>
          ))}
        </select>
        {isRunning ? (
          <button type="button" class="btn" onClick={stop}>
            {text.sql.stop}
          </button>
        ) : (
          <button type="button" class="btn go" title={text.sql.runTitle} onClick={() => void run()}>
            {text.sql.run} <kbd>Ctrl ↵</kbd>
          </button>
        )}
      </div>
      <div class={`asking${schemaShown.value ? '' : ' alone'}`}>
        <textarea
          ref={field}
          class="num"
          data-panel="sql"
          aria-label={text.sql.query}
          placeholder={text.sql.placeholder}
          spellcheck={false}
          autocomplete="off"
          value={draft.value}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            void run();
          }}
        />
        {schemaShown.value && <Schema insert={insert} />}
      </div>
      {came.state === 'none' && known !== null && (
        <p class="told limits faint">{text.sql.limits(known.limits.seconds, known.limits.memory_bytes)}</p>
      )}
      {came.state === 'running' && <Running began={came.began} />}
      {came.state === 'failed' && <Failed {...came} onGo={goTo} />}
      {came.state === 'answered' && <Answer answer={came.answer} />}
    </div>
  );
}
