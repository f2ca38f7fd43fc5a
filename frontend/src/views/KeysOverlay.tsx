/** The list of keys. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { COMMANDS, type Group, whyNot } from '../store/commands';
import { isEmbedded } from '../store/embedded';
import { keysShown, renderNow } from '../store/layout';
import { text } from '../text';
import { keyName } from './keyName';

function Rows({ group }: { readonly group: Group }) {
  return (
    <section>
      <h3>{text.keys.groups[group]}</h3>
      <dl>
        {COMMANDS.filter((command) => command.group === group && command.keys.length > 0).map((command) => (
          <div key={command.id}>
            <dt>
              {command.keys.map((key) => (
                <kbd key={key}>{keyName(key)}</kbd>
              ))}
            </dt>
            <dd>{text.commands[command.id]}</dd>
          </div>
        ))}
        {group === 'panels' && !isEmbedded && (
          <div>
            <dt>
              <kbd>Ctrl</kbd>
              <kbd>↵</kbd>
            </dt>
            <dd>{text.keys.send}</dd>
          </div>
        )}
        {group === 'map' && (
          <>
            <div>
              <dt>
                <kbd>↑</kbd>
                <kbd>↓</kbd>
                <kbd>←</kbd>
                <kbd>→</kbd>
              </dt>
              <dd>{text.keys.arrows}</dd>
            </div>
            <div>
              <dt>
                <kbd>⇧</kbd>
                <kbd>→</kbd>
              </dt>
              <dd>{text.keys.rectangle}</dd>
            </div>
            <div>
              <dt>
                <kbd>+</kbd>
                <kbd>−</kbd>
                <kbd>0</kbd>
              </dt>
              <dd>{text.keys.zoom}</dd>
            </div>
            <div>
              <dt>
                <kbd>PgUp</kbd>
                <kbd>PgDn</kbd>
              </dt>
              <dd>{text.keys.rows}</dd>
            </div>
          </>
        )}
      </dl>
    </section>
  );
}

function close(): void {
  renderNow(() => {
    keysShown.value = false;
  });
}

function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    // Closed before it goes, it gives the focus back to where that was.
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="keys"
      aria-label={text.keys.title}
      // Told a task later, also when it is gone and another one open.
      onClose={(event) => event.currentTarget.isConnected && close()}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== '?' && event.key !== 'Escape') return;
        event.preventDefault();
        close();
      }}
    >
      <div class="head">
        <h2>{text.keys.title}</h2>
        <button type="button" class="plain" aria-label={text.keys.close} onClick={close}>
          ✕
        </button>
      </div>
      <div class="columns">
        <Rows group="view" />
        {!isEmbedded && <Rows group="engine" />}
        <Rows group="selection" />
        <Rows group="panels" />
        <Rows group="map" />
      </div>
      <p class="foot">
        {COMMANDS.filter(({ keys }) => keys.length === 0).map((command) => (
          <button
            key={command.id}
            type="button"
            class="link"
            disabled={whyNot(command) !== null}
            onClick={() => {
              close();
              command.run();
            }}
          >
            {text.commands[command.id]}
          </button>
        ))}
      </p>
    </dialog>
  );
}

export function KeysOverlay() {
  return keysShown.value ? <Keys /> : null;
}
