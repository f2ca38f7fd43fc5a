/** Why a server did not do what it was asked for, in its own words; and its answers, once they are what they should be. */

import { text } from '../text';

/** What an answer that is no success says. */
export async function reasonOf(response: Response): Promise<string> {
  const said = await response.text();
  return reasonIn(said, response.status);
}

/** What the body of such an answer says. */
export function reasonIn(said: string, status: number): string {
  try {
    const { detail } = JSON.parse(said) as { detail?: unknown };
    if (typeof detail === 'string') return detail;
  } catch {
    // It is no JSON: a line of text.
  }
  return said.trim().slice(0, 400) || `status ${status}`;
}

/** A server answered something that the page can't read: one of another version, or another program in its place. */
export class UnreadableAnswerError extends Error {}

type Is = (value: unknown) => boolean;
export const isArray: Is = Array.isArray;
export const isText: Is = (value) => typeof value === 'string';
export const isObject: Is = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
export const orNull =
  (is: Is): Is =>
  (value) =>
    value === null || is(value);

/** What an answer says, once its parts are as they should be; else it throws an {@link UnreadableAnswerError}. */
export function readAnswer<T>(said: string, parts: Readonly<Record<string, Is>> = {}): T {
  let told: unknown = null;
  try {
    told = JSON.parse(said);
  } catch {
    // It is no JSON, which is no object either.
  }
  const isRight =
    isObject(told) &&
    Object.entries(parts).every(([name, is]) => is((told as Record<string, unknown>)[name]));
  if (!isRight) throw new UnreadableAnswerError(text.stage.unreadable(said.trim().slice(0, 80)));
  return told as T;
}

/** The same of a response that is a success. */
export async function answerOf<T>(response: Response, parts: Readonly<Record<string, Is>>): Promise<T> {
  return readAnswer<T>(await response.text(), parts);
}

/** What is said of an error: that the answer can't be read, or else that there is none. */
export function whyNone<N>(error: unknown, none: N): string | N {
  return error instanceof UnreadableAnswerError ? error.message : none;
}
