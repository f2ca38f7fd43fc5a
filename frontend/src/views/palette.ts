/**
 * The colours, once for the style sheet (as custom properties) and for what is drawn by hand.
 *
 * The four states differ in lightness, not only in hue, so that they can be told apart in any colour vision: free is the
 * nearest to the ground, then cached, active, shared.
 */

export interface Palette {
  readonly bg: string;
  readonly panel: string;
  readonly raised: string;
  readonly line: string;
  readonly hair: string;
  readonly text: string;
  readonly dim: string;
  readonly faint: string;
  readonly accent: string;
  readonly 'accent-ground': string;
  readonly warn: string;
  readonly 'warn-ground': string;
  readonly bad: string;
  readonly 'bad-ground': string;
  readonly ok: string;
  readonly 'ok-ground': string;
  readonly 's-free': string;
  readonly 's-cached': string;
  readonly 's-active': string;
  readonly 's-shared': string;
  readonly 's-new': string;
  /** Text on the four states. */
  readonly 'on-shared': string;
  readonly 'on-active': string;
  readonly 'chip-active': string;
  readonly 'chip-active-text': string;
  readonly 'chip-shared': string;
  readonly 'chip-shared-text': string;
  readonly 'chip-cached': string;
  readonly 'chip-cached-text': string;
  readonly 'chip-copy': string;
  readonly 'chip-copy-text': string;
  /** The states as words. */
  readonly 'ink-active': string;
  readonly prefill: string;
  readonly decode: string;
}

export const PALETTES: Record<'dark' | 'light', Palette> = {
  dark: {
    bg: '#0e1116',
    panel: '#131820',
    raised: '#1a212c',
    line: '#232b37',
    hair: '#1a212b',
    text: '#d7dee9',
    dim: '#9ba6b6',
    faint: '#828d9d',
    accent: '#6cb6ff',
    'accent-ground': '#172434',
    warn: '#f0a35e',
    'warn-ground': '#241c12',
    bad: '#ff6b6b',
    'bad-ground': '#3a1518',
    ok: '#62dba6',
    'ok-ground': '#12261b',
    's-free': '#1b212b',
    's-cached': '#2f4a6b',
    's-active': '#3f9e8f',
    's-shared': '#b79cff',
    's-new': '#fff3c4',
    'on-shared': '#1c1633',
    'on-active': '#06211c',
    'chip-active': '#1e2f38',
    'chip-active-text': '#bfe6dd',
    'chip-shared': '#2c2745',
    'chip-shared-text': '#d9ccff',
    'chip-cached': '#1d2836',
    'chip-cached-text': '#a9c1e0',
    'chip-copy': '#46381a',
    'chip-copy-text': '#ffe2a8',
    'ink-active': '#4db3a2',
    prefill: '#f0a35e',
    decode: '#5d7ea6',
  },
  light: {
    bg: '#f4f6f9',
    panel: '#ffffff',
    raised: '#eef1f5',
    line: '#d3dae3',
    hair: '#e6eaf0',
    text: '#1a2330',
    dim: '#4a5565',
    faint: '#5a6676',
    accent: '#0b62c4',
    'accent-ground': '#e3effc',
    warn: '#985008',
    'warn-ground': '#fcf1e3',
    bad: '#c42430',
    'bad-ground': '#fde4e5',
    ok: '#0b7a4f',
    'ok-ground': '#e0f4e8',
    's-free': '#e3e8ef',
    's-cached': '#a9c4e6',
    's-active': '#2b8f80',
    's-shared': '#5d3fb5',
    's-new': '#ffc73d',
    'on-shared': '#f3eeff',
    'on-active': '#f2fffc',
    'chip-active': '#d9efeb',
    'chip-active-text': '#0c4a41',
    'chip-shared': '#e6dffa',
    'chip-shared-text': '#3d2589',
    'chip-cached': '#dfe9f6',
    'chip-cached-text': '#27486f',
    'chip-copy': '#fbe9c6',
    'chip-copy-text': '#6b4300',
    'ink-active': '#1c7265',
    prefill: '#d2751d',
    decode: '#6a8db8',
  },
};

/** The states in the order of their classes (see `worker/word.ts`). */
export const STATE_COLOURS = ['s-free', 's-cached', 's-active', 's-shared'] as const;

/** #rrggbb as three numbers from 0 to 255. */
export function rgb(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
