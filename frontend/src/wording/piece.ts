/** Pieces of text as they can be shown within a line. */

/** Text as a part of a sentence. */
export function oneLine(piece: string): string {
  return piece.replaceAll(/\n+/g, '⏎').trim();
}

/** White space that can be seen. */
export function visible(piece: string): string {
  return piece.replaceAll(' ', '␣').replaceAll('\n', '⏎').replaceAll('\t', '⇥');
}
