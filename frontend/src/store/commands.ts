/** What a reader can do, as data: an id (its title is in the catalogue), keys, and what it does. The `?` overlay lists them. */

import type { text } from '../text';
import {
  changePace,
  follow,
  jump,
  jumpToChange,
  jumpToLandmark,
  operationsBy,
  playOrPause,
  RECORDED,
  setPace,
  stepBy,
} from './clock';
import { isEmbedded } from './embedded';
import { canControl, canReset, holdOrRelease, resetPrefixCache, stepEngine } from './engine';
import {
  CENTRE_KEYS,
  CENTRE_PANELS,
  FIXED_KEYS,
  type FixedPanel,
  filterField,
  focusFilter,
  focusPanel,
  keysShown,
  LEFT_KEYS,
  LEFT_PANELS,
  showPanel,
} from './layout';
import { type Motion, press, release, releaseAll } from './motion';
import { clearSelection } from './selection';
import { closeSession, current, reopenSession } from './sessions';
import { revealSelection, startSurfaces } from './surfaces';
import { toggleTheme } from './theme';

export type Group = keyof typeof text.keys.groups;

export interface Command {
  readonly id: keyof typeof text.commands;
  /** As in `KeyboardEvent.key`, with `Shift+` where it is held and does not make another character. */
  readonly keys: readonly string[];
  readonly group: Group;
  readonly run: () => void;
  /** It goes on while its key is held; this ends it. */
  readonly release?: () => void;
  readonly enabled?: () => boolean;
  /** It asks a server, so a page that holds its recording does not have it. */
  readonly needsServer?: true;
}

const inSession = (): boolean => current.peek() !== null;

function motion(id: Motion, key: string): Command {
  return { id, keys: [key], group: 'map', run: () => press(id), release: () => release(id) };
}

const ALL: readonly Command[] = [
  { id: 'play', keys: ['Space'], group: 'view', run: playOrPause },
  { id: 'forward', keys: ['.'], group: 'view', run: () => stepBy(1) },
  { id: 'back', keys: [','], group: 'view', run: () => stepBy(-1) },
  { id: 'forward10', keys: ['>'], group: 'view', run: () => stepBy(10) },
  { id: 'back10', keys: ['<'], group: 'view', run: () => stepBy(-10) },
  { id: 'nextOperation', keys: ["'"], group: 'view', run: () => operationsBy(1) },
  { id: 'previousOperation', keys: [';'], group: 'view', run: () => operationsBy(-1) },
  { id: 'nextLandmark', keys: ['n'], group: 'view', run: () => jumpToLandmark(1) },
  { id: 'previousLandmark', keys: ['N'], group: 'view', run: () => jumpToLandmark(-1) },
  { id: 'slower', keys: ['{'], group: 'view', run: () => changePace(-1) },
  { id: 'faster', keys: ['}'], group: 'view', run: () => changePace(1) },
  { id: 'asItWas', keys: ['\\'], group: 'view', run: () => setPace(RECORDED) },
  { id: 'end', keys: ['End'], group: 'view', run: follow },
  { id: 'home', keys: ['Home'], group: 'view', run: () => jump(0) },
  { id: 'go', keys: ['g'], group: 'view', run: () => focusPanel('go') },
  {
    id: 'hold',
    keys: ['Shift+Space'],
    group: 'engine',
    run: () => void holdOrRelease(),
    needsServer: true,
    enabled: () => canControl.peek(),
  },
  {
    id: 'stepEngine',
    keys: ['Shift+Enter'],
    group: 'engine',
    run: () => void stepEngine(),
    needsServer: true,
    enabled: () => canControl.peek(),
  },
  {
    id: 'resetCache',
    keys: ['R'],
    group: 'engine',
    run: () => void resetPrefixCache(),
    needsServer: true,
    enabled: () => canReset.peek(),
  },
  ...[...LEFT_PANELS, ...CENTRE_PANELS].map(
    (id): Command => ({
      id,
      keys: [{ ...LEFT_KEYS, ...CENTRE_KEYS }[id]],
      group: 'panels',
      run: () => showPanel(id),
    }),
  ),
  ...(Object.keys(FIXED_KEYS) as FixedPanel[]).map(
    (id): Command => ({ id, keys: [FIXED_KEYS[id]], group: 'panels', run: () => focusPanel(id) }),
  ),
  {
    id: 'filter',
    keys: ['/'],
    group: 'panels',
    run: focusFilter,
    enabled: () => filterField() !== null,
  },
  { id: 'theme', keys: ['t'], group: 'panels', run: toggleTheme },
  { id: 'sessions', keys: ['o'], group: 'panels', run: closeSession, needsServer: true },
  { id: 'keys', keys: ['?'], group: 'panels', run: () => toggleKeys() },
  {
    id: 'next',
    keys: [']'],
    group: 'selection',
    run: () => jumpToChange(1),
  },
  {
    id: 'previous',
    keys: ['['],
    group: 'selection',
    run: () => jumpToChange(-1),
  },
  { id: 'reveal', keys: ['f'], group: 'selection', run: revealSelection },
  { id: 'clear', keys: ['Escape'], group: 'selection', run: leave },
  motion('zoomIn', 'w'),
  motion('zoomOut', 's'),
  motion('panLeft', 'a'),
  motion('panRight', 'd'),
];

export const COMMANDS = ALL.filter(({ needsServer }) => !isEmbedded || needsServer !== true);

/** These work without a session too. */
const ANYWHERE = new Set<Command['id']>(['keys', 'theme', 'clear']);

function toggleKeys(): void {
  keysShown.value = !keysShown.value;
}

function leave(): void {
  if (keysShown.value) keysShown.value = false;
  else if (!inSession()) reopenSession();
  else clearSelection();
}

export function commandById(id: Command['id']): Command {
  return COMMANDS.find((command) => command.id === id)!;
}

function keyOf(event: KeyboardEvent): string {
  const key = event.key === ' ' ? 'Space' : event.key;
  return event.shiftKey && (key === 'Space' || key.length > 1) ? `Shift+${key}` : key;
}

/** Is somebody typing? Then a key is a character. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName);
}

/** Keys that a focused control needs for itself. */
function isTaken(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  const isControl = /^(button|a|summary)$/i.test(target.tagName) || target.getAttribute('role') === 'button';
  return isControl && (event.key === 'Enter' || (event.key === ' ' && !event.shiftKey));
}

/**
 * A control that was clicked gives the focus back, so that the keys are the page's again. Who reaches it by keyboard
 * keeps it.
 */
function giveFocusBack(): void {
  let byPointer = false;
  window.addEventListener('pointerdown', () => {
    byPointer = true;
  });
  window.addEventListener(
    'keydown',
    () => {
      byPointer = false;
    },
    true,
  );
  const leave = (event: Event): void => {
    const { target } = event;
    if (!byPointer || !(target instanceof Element) || target.closest('dialog, [popover]') !== null) return;
    const control = target.closest('button, select, summary, input[type="checkbox"]');
    if (control === null || (event.type === 'click' && control.tagName === 'SELECT')) return;
    if (document.activeElement === control) (control as HTMLElement).blur();
  };
  window.addEventListener('click', leave);
  window.addEventListener('change', leave);
}

/** What was opened to be read goes with the next key; Escape does nothing else then. */
function closePopovers(event: KeyboardEvent): void {
  if (/^(Shift|Control|Alt|Meta)$/.test(event.key)) return;
  const open = document.querySelectorAll<HTMLElement>('[popover]:popover-open');
  // The button that opened it closes it by itself.
  const { target } = event;
  const byButton = target instanceof Element && target.hasAttribute('popovertarget');
  if (open.length === 0 || (byButton && (event.key === 'Enter' || event.key === ' '))) return;
  for (const each of open) each.hidePopover();
  if (event.key === 'Escape') {
    event.preventDefault();
    event.stopPropagation();
  }
}

/** The commands whose keys are down, by the key's place: with Shift or not, it is the same that comes up. */
const held = new Map<string, Command>();

function letGo(): void {
  for (const command of held.values()) command.release?.();
  held.clear();
  releaseAll();
}

export function startKeys(): void {
  giveFocusBack();
  startSurfaces();
  window.addEventListener('blur', letGo);
  window.addEventListener('keyup', ({ code }) => {
    held.get(code)?.release?.();
    held.delete(code);
  });
  window.addEventListener('keydown', closePopovers, true);
  window.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) {
      if (event.key === 'Escape') (event.target as HTMLElement).blur();
      return;
    }
    if (isTaken(event)) return;
    const key = keyOf(event);
    const command = COMMANDS.find((each) => each.keys.includes(key));
    if (command === undefined || !(inSession() || ANYWHERE.has(command.id))) return;
    if (command.enabled !== undefined && !command.enabled()) return;
    // Home and End belong to a focused list unless it is the page that has the focus.
    event.preventDefault();
    if (command.release !== undefined) held.set(event.code, command);
    command.run();
  });
}
