/**
 * The questions of docs/why.md as links, the part of an address behind `/api/sessions/ID/why/`:
 *
 *     evicted?op=9920 · evicted?block=42&generation=3&step=90 · preempted?of=r17 · waits?of=r17&step=90
 *     missed?of=r17 · memory?step=90 · leaks?baseline=10&step=90
 */

export type Question =
  | { readonly kind: 'evicted'; readonly op: number }
  | {
      readonly kind: 'evicted';
      readonly block: number;
      readonly generation?: number | undefined;
      readonly step?: number | undefined;
    }
  | {
      readonly kind: 'preempted' | 'waits' | 'missed';
      readonly of: string;
      readonly step?: number | undefined;
    }
  | { readonly kind: 'memory'; readonly step?: number | undefined }
  | { readonly kind: 'leaks'; readonly baseline?: number | undefined; readonly step?: number | undefined };

export type Kind = Question['kind'];

/** The values that each question may have; of `evicted` either the first, or the others. */
const VALUES: Readonly<Record<Kind, readonly string[]>> = {
  evicted: ['op', 'block', 'generation', 'step'],
  preempted: ['of', 'step'],
  waits: ['of', 'step'],
  missed: ['of', 'step'],
  memory: ['step'],
  leaks: ['baseline', 'step'],
};

export function linkOf({ kind, ...values }: Question): string {
  const query = new URLSearchParams();
  const given = values as Readonly<Record<string, number | string | undefined>>;
  for (const name of VALUES[kind]) {
    const value = given[name];
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? kind : `${kind}?${query}`;
}

/** null: the link is no question. */
export function questionOf(link: string): Question | null {
  const [name = '', search = ''] = link.split('?', 2);
  if (!Object.hasOwn(VALUES, name)) return null;
  const kind = name as Kind;
  const found: Record<string, number | string> = { kind };
  for (const [key, value] of new URLSearchParams(search)) {
    const isNumber = key !== 'of';
    if (!VALUES[kind].includes(key) || key in found) return null;
    if (isNumber ? !/^\d{1,15}$/.test(value) : value === '' || value.length > 1000) return null;
    found[key] = isNumber ? Number(value) : value;
  }
  if (kind === 'evicted') {
    const isOne = 'op' in found;
    if (isOne ? Object.keys(found).length !== 2 : !('block' in found)) return null;
  }
  if (VALUES[kind].includes('of') && !('of' in found)) return null;
  return found as unknown as Question;
}

/** The same question of another step; an operation is what it is at any. */
export function ofStep(question: Question, step: number): Question {
  return 'op' in question ? question : { ...question, step };
}
