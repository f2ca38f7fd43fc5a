/**
 * Parts of the address that panels keep, each beside what it stands for: `&centre=events`, `&zoom=…`, `&filter=…`.
 *
 * `location.ts` writes and reads them with the place and the selection.
 */

export interface AddressPart {
  /** Its name in the address. */
  readonly name: string;
  /** What stands there; null: as the page begins, so nothing does. Reads signals: the address follows them. */
  readonly now: () => string | null;
  /** Take what stands there; false: it can't be taken, and the page is as if it did not stand there. */
  readonly take: (said: string | null) => boolean;
  /** Is a change something to come Back from? Else it is a change of where one is already. */
  readonly isEntry: boolean;
}

const parts: AddressPart[] = [];

/** Keep something in the address: once, when the page begins. */
export function keepInAddress(part: AddressPart): void {
  if (parts.some(({ name }) => name === part.name))
    throw new Error(`two things are named ${part.name} in the address`);
  parts.push(part);
}

/** Into the query of an address. */
export function writeParts(query: URLSearchParams): void {
  for (const { name, now } of parts) {
    const said = now();
    if (said !== null) query.set(name, said);
  }
}

/** Take them all from a query; what can't be taken, as it stands there. */
export function takeParts(query: URLSearchParams): string[] {
  return parts.flatMap(({ name, take }) => {
    const said = query.get(name);
    return take(said) ? [] : [`${name}=${said}`];
  });
}

/** Do two addresses differ in a part that is to come Back from? */
export function partsDiffer(before: URLSearchParams, after: URLSearchParams): boolean {
  return parts.some(({ name, isEntry }) => isEntry && before.get(name) !== after.get(name));
}
