/**
 * How the link of a question is written: the one way in which an exported page knows its answers (backend/kvarium/why/questions.py),
 * whatever way it is asked.
 *
 *     why/leaks?step=90&baseline=0   why/leaks?step=90       fields in their order, what is as by default left out
 */

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  evicted: ['block', 'generation', 'op', 'step'],
  preempted: ['of', 'step'],
  waits: ['of', 'step'],
  missed: ['of', 'step'],
  memory: ['step'],
  leaks: ['baseline', 'step'],
};

/** null: it is no question's. */
export function canonical(link: string): string | null {
  const [path = '', search = ''] = link.split('?', 2);
  if (path === 'findings') return path;
  const kind = path.startsWith('why/') ? path.slice(4) : '';
  if (!Object.hasOwn(FIELDS, kind)) return null;
  const given = new URLSearchParams(search);
  const told = FIELDS[kind]!.flatMap((name) => {
    const value = given.get(name);
    if (value === null || (name === 'baseline' && Number(value) === 0)) return [];
    return [`${name}=${encodeURIComponent(name === 'of' ? value : String(Number(value)))}`];
  });
  return told.length === 0 ? path : `${path}?${told.join('&')}`;
}

/** A link without its step, and that step; null: it has none. */
export function apart(link: string): { readonly rest: string; readonly step: number } | null {
  const found = /^(.*)[?&]step=(\d+)$/.exec(link);
  return found === null ? null : { rest: found[1]!, step: Number(found[2]) };
}
