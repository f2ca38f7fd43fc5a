/** The faces, once for the style sheet and for what is drawn by hand. */

export const MONO =
  'ui-monospace, "SF Mono", SFMono-Regular, Menlo, "Cascadia Mono", Consolas, "DejaVu Sans Mono", monospace';
