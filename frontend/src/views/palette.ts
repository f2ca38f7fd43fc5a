/**
 * The colours, once for the style sheet (as custom properties) and for what is drawn by hand.
 *
 * The four states differ in lightness, not only in hue, so that they can be told apart in any colour vision: free is the
 * nearest to the ground, then cached, active, shared. So do the steps of the scale (m-1 the nearest to the ground). Owners follow one
 * another in an order in which neighbours differ most.
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
  /** A scale's parts from low to high, and what is not known. */
  readonly 'm-1': string;
  readonly 'm-2': string;
  readonly 'm-3': string;
  readonly 'm-4': string;
  readonly 'm-5': string;
  readonly 'm-6': string;
  readonly 'm-unknown': string;
  /** Requests that own blocks, and the one that is selected. */
  readonly 'o-1': string;
  readonly 'o-2': string;
  readonly 'o-3': string;
  readonly 'o-4': string;
  readonly 'o-5': string;
  readonly 'o-6': string;
  readonly 'o-7': string;
  readonly 'o-8': string;
  readonly 'o-selected': string;
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
    'm-1': '#314277',
    'm-2': '#006ba2',
    'm-3': '#0a95a8',
    'm-4': '#6dbf80',
    'm-5': '#c3d65a',
    'm-6': '#fff8c7',
    'm-unknown': '#4d3a3a',
    'o-1': '#e77a88',
    'o-2': '#559feb',
    'o-3': '#716f44',
    'o-4': '#e7c977',
    'o-5': '#a77fa2',
    'o-6': '#6e9818',
    'o-7': '#b0cefa',
    'o-8': '#665ecc',
    'o-selected': '#ffffff',
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
    'm-1': '#e3d191',
    'm-2': '#71b36c',
    'm-3': '#059093',
    'm-4': '#00688b',
    'm-5': '#0c4084',
    'm-6': '#1b1a50',
    'm-unknown': '#c1a3b0',
    'o-1': '#665300',
    'o-2': '#3342ce',
    'o-3': '#a87564',
    'o-4': '#3d8b9f',
    'o-5': '#16503c',
    'o-6': '#fb7b50',
    'o-7': '#a44065',
    'o-8': '#c068fc',
    'o-selected': '#000000',
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

export const SCALE_COLOURS = ['m-1', 'm-2', 'm-3', 'm-4', 'm-5', 'm-6'] as const;
export const OWNER_COLOURS = ['o-1', 'o-2', 'o-3', 'o-4', 'o-5', 'o-6', 'o-7', 'o-8'] as const;

/** #rrggbb as three numbers from 0 to 255. */
export function rgb(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
