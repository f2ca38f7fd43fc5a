/**
 * Answers that are derived from the recording that is open (docs/why.md, docs/findings.md), by their links: what stands
 * behind `/api/sessions/ID/`, as `why/evicted?op=9920`.
 *
 * A server makes each in a process of its own, which it kills when the one who asked goes away; a page that was exported
 * holds those that were made then.
 */

import { text } from '../text';
import { embeddedAnswer, embeddedNearest, isEmbedded } from './embedded';
import { readAnswer, reasonIn, whyNone } from './reason';
import { apiUrl, current } from './sessions';

export type Answered<T> =
  | { readonly state: 'asking' }
  | { readonly state: 'told'; readonly answer: T }
  /** `status` is that of a server which says why: 404 what is not so or not recorded, 429 too many ask, 503 it took too long. */
  | {
      readonly state: 'failed';
      readonly message: string;
      readonly status: number | null;
      /** The same question of another step, which is answered here, by its link. */
      readonly instead: string | null;
    };

const failed = (
  message: string,
  status: number | null = null,
  instead: string | null = null,
): Answered<never> => ({ state: 'failed', message, status, instead });

/** Is it for want of a server that answers? */
export const isGone = (answered: Answered<unknown>): boolean =>
  answered.state === 'failed' && answered.message === text.why.gone;

/** Ask the session that is open. Who aborts is told so, and nothing is thrown. */
export async function askFor<T>(link: string, signal?: AbortSignal): Promise<Answered<T>> {
  if (isEmbedded) {
    const answer = await embeddedAnswer(link);
    if (answer !== undefined) return { state: 'told', answer: answer as T };
    return failed(text.why.notInPage, null, await embeddedNearest(link));
  }
  const session = current.peek();
  if (session === null) return failed(text.why.noSession);
  try {
    const address = apiUrl(`sessions/${encodeURIComponent(session.id)}/${link}`);
    const response = await fetch(address, signal === undefined ? {} : { signal });
    const said = await response.text();
    if (!response.ok) return failed(reasonIn(said, response.status), response.status);
    return { state: 'told', answer: readAnswer<T>(said) };
  } catch (error) {
    return failed(signal?.aborted ? text.why.ended : whyNone(error, text.why.gone));
  }
}
