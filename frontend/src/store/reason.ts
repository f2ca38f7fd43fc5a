/** Why a server did not do what it was asked for, in its own words. */

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
