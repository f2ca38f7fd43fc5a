/** The keyboard: which command a key is, who else may need it, and what has the focus afterwards. */

import { COMMANDS, type Command, whyNot } from './commands';
import { releaseAll } from './motion';
import { startSurfaces } from './surfaces';

function keyOf(event: KeyboardEvent): string {
  const key = event.key === ' ' ? 'Space' : event.key;
  const isCtrl = (event.ctrlKey || event.metaKey) && !event.getModifierState('AltGraph');
  if (isCtrl) return `Ctrl+${key.toUpperCase()}`;
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
    // On many keyboards a bracket is made with AltGr, which some systems tell as Ctrl and Alt.
    if (event.defaultPrevented || (event.altKey && !event.getModifierState('AltGraph'))) return;
    const key = keyOf(event);
    if (isTyping(event.target) && !key.startsWith('Ctrl+')) {
      if (event.key === 'Escape') (event.target as HTMLElement).blur();
      return;
    }
    if (isTaken(event)) return;
    const command = COMMANDS.find((each) => each.keys.includes(key));
    if (command === undefined || whyNot(command) !== null) return;
    // Home and End belong to a focused list unless it is the page that has the focus.
    event.preventDefault();
    if (command.release !== undefined) held.set(event.code, command);
    command.run();
  });
}
