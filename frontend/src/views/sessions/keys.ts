/** The keys of the list of sessions: what `Sessions` shows at its foot. */

import { chosen, edited, exporting, move, removing, shown } from '../../store/collection';
import { renderNow } from '../../store/layout';
import { say } from '../../store/remark';
import { openSession, type SessionInfo } from '../../store/sessions';
import { whyFixed, whyNoNote, whyStays } from './Row';

function focusRow(info: SessionInfo | null): void {
  if (info !== null) document.getElementById(`session-${info.id}`)?.focus();
}

function go(rows: number): void {
  let to: SessionInfo | null = null;
  renderNow(() => {
    to = move(rows);
  });
  focusRow(to);
}

/** Handle a key; was it one of the list's? */
export function onKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const target = event.target as HTMLElement;
  const isSearch = target.closest('input[type="search"]') !== null;
  if (document.querySelector('dialog[open]') !== null) return false;
  if (!isSearch && /^(input|textarea|select)$/i.test(target.tagName)) return false;
  const isControl = !isSearch && target.closest('button, a') !== null;
  const info = shown.peek().find((each) => each.id === chosen.peek()) ?? null;
  switch (event.key) {
    case 'ArrowDown':
      go(1);
      return true;
    case 'ArrowUp':
      go(-1);
      return true;
    case 'Enter': {
      const wanted = info ?? (isSearch ? (shown.peek()[0] ?? null) : null);
      if (isControl || wanted === null) return false;
      openSession(wanted, null);
      return true;
    }
  }
  if (isSearch) return false;
  switch (event.key) {
    case '/':
      document.querySelector<HTMLInputElement>('.landing input[type="search"]')?.select();
      return true;
    case 'Home':
      go(-shown.peek().length);
      return true;
    case 'End':
      go(shown.peek().length);
      return true;
  }
  if (info === null) return false;
  switch (event.key) {
    case 'F2':
      doUnless(whyFixed(info), () => {
        edited.value = { id: info.id, what: 'name' };
      });
      return true;
    case 'n':
      doUnless(whyNoNote(info), () => {
        edited.value = { id: info.id, what: 'note' };
      });
      return true;
    case 'e':
      exporting.value = info;
      return true;
    case 'Delete':
      doUnless(whyStays(info), () => {
        removing.value = info;
      });
      return true;
  }
  return false;
}

/** Do it, or say why it can't be done. */
function doUnless(why: string | null, what: () => void): void {
  if (why === null) what();
  else say(why, true);
}
