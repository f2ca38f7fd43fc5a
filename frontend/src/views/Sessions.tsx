/** The sessions that the server knows: what one lands on when nothing is live. */

import { useEffect } from 'preact/hooks';
import { bytes, integer, moment, short } from '../format';
import {
  apiUrl,
  engineState,
  listing,
  openSession,
  refreshLanding,
  type SessionInfo,
  unknownSession,
} from '../store/sessions';
import { text } from '../text';
import { Corner, Logo } from './Bar';

const REFRESH = 3000;
const REFRESH_STARTING = 400;

function Row({ info }: { readonly info: SessionInfo }) {
  const faults = text.sessions.faults(info.gaps, info.violations);
  const name = info.name || info.id;
  return (
    // The whole row opens; the name is the button for who comes by keyboard.
    <tr
      onClick={(event) => {
        if ((event.target as Element).closest('a, button') === null) openSession(info, null);
      }}
    >
      <td>
        <button
          type="button"
          class="link"
          aria-label={text.sessions.open(name)}
          onClick={() => openSession(info, null)}
        >
          <b>{name}</b>
        </button>
        <span class="faint num id">{info.name ? info.id.slice(0, 8) : ''}</span>
      </td>
      <td>
        {info.state === 'live' && !info.linked ? (
          <span class="pill badge lost" title={text.bar.engineGoneTitle}>
            {text.sessions.states.waiting}
          </span>
        ) : (
          <span class={`pill badge ${info.state}`}>{text.sessions.states[info.state]}</span>
        )}
        {faults !== '' && <span class="red"> {faults}</span>}
      </td>
      <td>
        {info.model || info.runner}{' '}
        <span class="faint">{[info.engine, info.device].filter(Boolean).join(' · ')}</span>
      </td>
      <td class="num right">
        {integer(info.num_blocks)} × {info.block_size}
      </td>
      <td class="num right">{integer(info.steps)}</td>
      <td class="num right">{short(info.operations)}</td>
      <td class="num right">{text.sessions.length(info.duration_ns)}</td>
      <td
        class="num right"
        title={text.sessions.sizes(bytes(info.stored_bytes ?? info.bytes), bytes(info.bytes))}
      >
        {bytes(info.stored_bytes ?? info.bytes)}
      </td>
      <td class="num">{moment(info.started_utc_us)}</td>
      <td>
        <a
          href={apiUrl(`sessions/${encodeURIComponent(info.id)}/download`)}
          title={text.sessions.downloadTitle}
          download
        >
          {text.sessions.download}
        </a>
      </td>
    </tr>
  );
}

function Advice({
  title,
  advice,
  command,
}: {
  readonly title: string;
  readonly advice: string;
  readonly command: string;
}) {
  return (
    <div class="advice">
      <p class="loud">{title}</p>
      <p class="dim">{advice}</p>
      <code>{command}</code>
    </div>
  );
}

export function Sessions() {
  const starting = engineState.value === 'starting';
  useEffect(() => {
    void refreshLanding();
    const timer = setInterval(() => void refreshLanding(), starting ? REFRESH_STARTING : REFRESH);
    return () => clearInterval(timer);
  }, [starting]);
  const { value } = listing;
  return (
    <main class="landing">
      <header>
        <Logo />
        <h1>{text.sessions.title}</h1>
        <span class="space" />
        <Corner />
      </header>
      {unknownSession.value !== null && (
        <div class="advice" role="alert">
          <p class="loud">{text.sessions.unknown(unknownSession.value)}</p>
          <p class="dim">{text.sessions.unknownAdvice}</p>
        </div>
      )}
      {value.state === 'loading' && <p class="dim">{text.sessions.loading}</p>}
      {value.state === 'failed' && (
        <Advice
          title={text.sessions.failed}
          advice={text.sessions.failedAdvice}
          command={text.sessions.failedCommand}
        />
      )}
      {starting && (
        <div class="advice" role="status">
          <p class="loud">{text.sessions.starting}</p>
          <p class="dim">{text.sessions.startingAdvice}</p>
          <div class="spinner" />
        </div>
      )}
      {value.state === 'ready' && value.sessions.length === 0 && !starting && (
        <Advice
          title={text.sessions.empty}
          advice={text.sessions.emptyAdvice}
          command={text.sessions.emptyCommand}
        />
      )}
      {value.state === 'ready' && value.sessions.length > 0 && (
        <div class="tablewrap">
          <table>
            <thead>
              <tr>
                {text.sessions.columns.map((column, i) => (
                  <th
                    key={column}
                    title={column === text.sessions.stored ? text.sessions.storedTitle : undefined}
                    class={i >= 3 && i <= 7 ? 'right' : ''}
                  >
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {value.sessions.map((info) => (
                <Row key={info.id} info={info} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </main>
  );
}
