/** What this browser keeps for the page from one visit to the next. A page without storage forgets, and that is all. */

const PREFIX = 'kvarium.';

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** null: forget it. */
export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Said above.
  }
}

/** What was kept as JSON, where it is what is expected of it. */
export function recallJson<T>(name: string, isExpected: (value: unknown) => value is T, otherwise: T): T {
  try {
    const value: unknown = JSON.parse(recall(name) ?? 'null');
    return isExpected(value) ? value : otherwise;
  } catch {
    return otherwise;
  }
}
