/** A key as it is shown. */
export function keyName(key: string): string {
  return key
    .replace('Shift+', '⇧')
    .replace('Ctrl+', /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl ')
    .replace('Escape', 'Esc')
    .replace('Enter', '↵');
}
