/** The sessions that the server knows: what one lands on when nothing is live. Files are dropped on it, and come from it. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Order } from '../store/arranged';
import { known, loadSketches, order, search, shown } from '../store/collection';
import {
  apiUrl,
  engineState,
  listing,
  onlyRead,
  recordingFault,
  refreshLanding,
  unknownSession,
} from '../store/sessions';
import { importFiles } from '../store/transfers';
import { text } from '../text';
import { Corner, Logo } from './Bar';
import { Remarked } from './Stage';
import { ExportDialog } from './sessions/ExportDialog';
import { onKey } from './sessions/keys';
import { RemoveDialog } from './sessions/RemoveDialog';
import { Row } from './sessions/Row';
import { Transfers } from './sessions/Transfers';

const REFRESH = 3000;
const REFRESH_STARTING = 400;

/** The columns, and by which of them the list can be put in order. */
const COLUMNS: readonly {
  readonly name: keyof typeof text.sessions.columns;
  readonly order?: Order;
  readonly right?: true;
}[] = [
  { name: 'session', order: 'name' },
  { name: 'state' },
  { name: 'usage' },
  { name: 'engine' },
  { name: 'pool', right: true },
  { name: 'steps', right: true },
  { name: 'operations', order: 'operations', right: true },
  { name: 'length', right: true },
  { name: 'stored', order: 'stored', right: true },
  { name: 'started', order: 'started' },
];

function Head() {
  return (
    <tr>
      {COLUMNS.map(({ name, order: by, right }) => {
        const isOn = by !== undefined && order.value === by;
        const direction = by === 'name' ? 'ascending' : 'descending';
        return (
          <th key={name} class={right ? 'right' : ''} aria-sort={isOn ? direction : undefined}>
            {by === undefined ? (
              <span title={text.sessions.columnTitles[name]}>{text.sessions.columns[name]}</span>
            ) : (
              <button
                type="button"
                class={`plain${isOn ? ' on' : ''}`}
                title={text.sessions.columnTitles[name]}
                onClick={() => {
                  order.value = by;
                }}
              >
                {text.sessions.columns[name]}{' '}
                <i aria-hidden="true">{isOn ? (by === 'name' ? '▲' : '▼') : ''}</i>
              </button>
            )}
          </th>
        );
      })}
      <th>
        <span class="unseen">{text.sessions.acts}</span>
      </th>
    </tr>
  );
}

function ImportButton() {
  const field = useRef<HTMLInputElement>(null);
  const why = onlyRead.value;
  return (
    <>
      <input
        ref={field}
        type="file"
        class="unseen"
        tabIndex={-1}
        aria-hidden="true"
        multiple
        accept=".db,application/vnd.sqlite3"
        onChange={(event) => {
          importFiles(event.currentTarget.files ?? []);
          event.currentTarget.value = '';
        }}
      />
      <button
        type="button"
        class="btn"
        disabled={why !== null}
        title={why ?? text.sessions.importTitle}
        onClick={() => field.current?.click()}
      >
        {text.sessions.import}
      </button>
    </>
  );
}

/** A file that is held over the page; it may be dropped anywhere on it. */
function DropPlace() {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.dataTransfer!.dropEffect = onlyRead.peek() === null ? 'copy' : 'none';
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      // Out of the window, not from one element to the next.
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      if (onlyRead.peek() === null) importFiles(event.dataTransfer!.files);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  if (!isOver) return null;
  return (
    <div class="dropplace" role="status">
      <p class="loud">{onlyRead.value === null ? text.sessions.drop : text.sessions.noDrop}</p>
      <p class="dim">{onlyRead.value ?? text.sessions.dropAdvice}</p>
    </div>
  );
}

function Faults() {
  const { value } = listing;
  const fault = recordingFault.value;
  return (
    <>
      {unknownSession.value !== null && (
        <div class="notice" role="alert">
          <b>{text.sessions.unknown(unknownSession.value)}</b>
          <span class="dim">{text.sessions.unknownAdvice}</span>
        </div>
      )}
      {value.state === 'failed' && (
        <div class="notice bad" role="alert">
          <b>{value.reason === null ? text.sessions.failed : text.sessions.unreadable}</b>
          <span class="dim">
            {value.reason === null
              ? text.sessions.failedAdvice(known.value.length > 0)
              : text.sessions.unreadableBecause(value.reason)}
          </span>
          {value.reason === null && <code>{text.sessions.failedCommand}</code>}
        </div>
      )}
      {fault !== null && (
        <div class="notice bad" role="alert">
          <b>{text.sessions.unwritable}</b>
          <span class="dim">{text.sessions.unwritableBecause(fault.reason, fault.whatToDo)}</span>
        </div>
      )}
    </>
  );
}

/** How a first session comes to be. */
function Empty() {
  const words = text.sessions;
  return (
    <div class="advice">
      <p class="loud">{words.empty}</p>
      {words.first(apiUrl('engine').replace(/^http/, 'ws')).map(({ advice, command }) => (
        <div key={advice}>
          <p class="dim">{advice}</p>
          <code>{command}</code>
        </div>
      ))}
      <p class="dim">{onlyRead.value ?? words.firstImport}</p>
    </div>
  );
}

function List() {
  const rows = shown.value;
  if (rows.length === 0) {
    return (
      <div class="advice">
        <p class="loud">{text.sessions.noMatch(search.value)}</p>
        <p>
          <button
            type="button"
            class="btn"
            onClick={() => {
              search.value = '';
            }}
          >
            {text.sessions.showAll(known.value.length)}
          </button>
        </p>
      </div>
    );
  }
  return (
    <div class="tablewrap">
      <table aria-label={text.sessions.title}>
        <thead>
          <Head />
        </thead>
        <tbody>
          {rows.map((info, at) => (
            <Row key={info.id} info={info} isFirst={at === 0} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Search() {
  return (
    <input
      type="search"
      class="search"
      aria-label={text.sessions.search}
      placeholder={text.sessions.searchPlaceholder}
      value={search.value}
      onInput={(event) => {
        search.value = event.currentTarget.value;
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        if (search.peek() === '') event.currentTarget.blur();
        search.value = '';
      }}
    />
  );
}

export function Sessions() {
  const starting = engineState.value === 'starting';
  useEffect(() => {
    const refresh = (): void => void refreshLanding().then(loadSketches);
    refresh();
    const timer = setInterval(
      () => {
        if (!document.hidden) refresh();
      },
      starting ? REFRESH_STARTING : REFRESH,
    );
    return () => clearInterval(timer);
  }, [starting]);
  const list = listing.value;
  useEffect(() => void loadSketches(), [list]);
  // A key may come as soon as it is there.
  useLayoutEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (!event.defaultPrevented && onKey(event)) event.preventDefault();
    };
    window.addEventListener('keydown', key);
    return () => window.removeEventListener('keydown', key);
  }, []);
  const hasSome = known.value.length > 0;
  return (
    <main class="landing">
      <header>
        <Logo />
        <h1>{text.sessions.title}</h1>
        {hasSome && (
          <span class="faint num">{text.sessions.count(shown.value.length, known.value.length)}</span>
        )}
        <span class="space" />
        {hasSome && <Search />}
        <ImportButton />
        <Corner />
      </header>
      <Remarked />
      <Faults />
      {list.state === 'loading' && <p class="dim">{text.sessions.loading}</p>}
      {starting && (
        <div class="notice" role="status">
          <span class="spinner" aria-hidden="true" />
          <b>{text.sessions.starting}</b>
          <span class="dim">{text.sessions.startingAdvice}</span>
        </div>
      )}
      {list.state === 'ready' && !hasSome && !starting && <Empty />}
      {hasSome && <List />}
      {hasSome && (
        <p class="foot dim">
          {text.sessions.keys.map(({ key, does }) => (
            <span key={key}>
              <kbd>{key}</kbd> {does}
            </span>
          ))}
        </p>
      )}
      <Transfers />
      <DropPlace />
      <RemoveDialog />
      <ExportDialog />
    </main>
  );
}
