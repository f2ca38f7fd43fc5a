/**
 * The recording that this page holds, where it is one that `kvarium export --format html` wrote; null: a server has them.
 *
 *     <script type="application/octet-stream" data-part="frames-0">base64</script>    one a part, the part `about` last
 *
 * `about` is JSON in base64: all that the page itself needs. The others go to the worker, and out of the document.
 */

import type { EmbeddedRecording } from '../worker/embedded';
import { EmbeddedAnswers } from './embeddedAnswers';
import type { SessionInfo } from './sessions';

export interface Embedded {
  readonly session: SessionInfo;
  readonly exported_utc_us: number;
  /** The version that wrote it. */
  readonly kvarium: string;
  /** How many answers of each kind are here, of how many questions that could be asked. */
  readonly answers: Readonly<Record<string, { readonly answered: number; readonly of: number }>>;
  /** The steps that are here, where they are not all. */
  readonly part: { readonly from_step: number; readonly to_step: number; readonly last_step: number } | null;
}

interface Found {
  /** null: the file is cut off, or holds none. */
  readonly about: Embedded | null;
  readonly recording: EmbeddedRecording;
}

function read(): Found {
  const recording = new Map<string, Blob>();
  let about: Embedded | null = null;
  for (const element of document.querySelectorAll<HTMLScriptElement>('script[data-part]')) {
    const { part = '' } = element.dataset;
    const base64 = element.textContent ?? '';
    if (part === 'about') {
      const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
      about = JSON.parse(new TextDecoder().decode(bytes)) as Embedded;
    } else recording.set(part, new Blob([base64]));
    element.remove();
  }
  return { about, recording };
}

/** Does this build read a recording from its own document? */
export const isEmbedded = import.meta.env.MODE === 'embedded';
const found: Found | null = isEmbedded ? read() : null;
export const embedded: Embedded | null = found?.about ?? null;
export const recording: EmbeddedRecording | null = found?.recording ?? null;

/** How many answers are here of how many, in all and by their kinds; null: the page asks a server. */
export const heldAnswers = embedded && {
  answered: Object.values(embedded.answers).reduce((sum, { answered }) => sum + answered, 0),
  of: Object.values(embedded.answers).reduce((sum, { of }) => sum + of, 0),
  kinds: Object.entries(embedded.answers)
    .map(([kind, { answered, of }]) => `${kind} ${answered}/${of}`)
    .join(', '),
};

const answers = recording === null ? null : new EmbeddedAnswers(recording);

/** The answer to a question, by its link, in a page that holds answers; undefined: it holds none to this one. */
export async function embeddedAnswer(link: string): Promise<unknown | undefined> {
  return answers?.answer(link);
}

/** The same question of the nearest step of which this page holds an answer, by its link; null: of none. */
export async function embeddedNearest(link: string): Promise<string | null> {
  return (await answers?.nearest(link)) ?? null;
}
