/**
 * The answers of an exported page: those that were made when it was exported, by their links.
 *
 *     asked                              held                              the same, as
 *     why/preempted?of=r3&step=90        why/preempted?of=r3&step=71       a request's preemptions are held all or none
 *     why/missed?of=r3&step=90           why/missed?of=r3                  it was not admitted again up to step 90
 */

import type { EmbeddedRecording } from '../worker/embedded';
import { unpacked } from '../worker/unpacked';
import { apart, canonical } from './links';

type Table = Readonly<Record<string, unknown>>;

interface Admitted {
  readonly at: { readonly step: number };
  readonly others: readonly { readonly at: { readonly step: number } }[];
}

export class EmbeddedAnswers {
  private table: Promise<Table> | null = null;

  constructor(private readonly recording: EmbeddedRecording) {}

  private read(): Promise<Table> {
    const part = this.recording.get('answers');
    this.table ??=
      part === undefined
        ? Promise.resolve({})
        : unpacked(part).then((bytes) => JSON.parse(new TextDecoder().decode(bytes)) as Table);
    return this.table;
  }

  /** The answer to the question of a link; undefined: the page holds none. */
  async answer(link: string): Promise<unknown | undefined> {
    const asked = canonical(link);
    if (asked === null) return undefined;
    const table = await this.read();
    if (Object.hasOwn(table, asked)) return table[asked];
    const found = apart(asked);
    if (found === null) return undefined;
    const { rest, step } = found;
    if (rest.startsWith('why/preempted?')) {
      const last = stepsOf(table, rest).findLast((each) => each <= step);
      return last === undefined ? undefined : table[`${rest}&step=${last}`];
    }
    if (!rest.startsWith('why/missed?') || !Object.hasOwn(table, rest)) return undefined;
    const first = table[rest] as Admitted;
    const upTo = [first, ...first.others].filter(({ at }) => at.step <= step);
    return upTo.length === 1 && upTo[0] === first ? first : undefined;
  }

  /** The link of the same question of the nearest step that is answered; null: it is answered of none. */
  async nearest(link: string): Promise<string | null> {
    const asked = canonical(link);
    if (asked === null) return null;
    const { rest, step } = apart(asked) ?? { rest: asked, step: Number.POSITIVE_INFINITY };
    const table = await this.read();
    const steps = stepsOf(table, rest).sort((a, b) => Math.abs(a - step) - Math.abs(b - step));
    // Of infinity all are as far: the last one is meant.
    const best = Number.isFinite(step) ? steps[0] : Math.max(...steps);
    if (best !== undefined && Number.isFinite(best))
      return `${rest}${rest.includes('?') ? '&' : '?'}step=${best}`;
    return Object.hasOwn(table, rest) ? rest : null;
  }
}

/** The steps at which a question is answered, ascending. */
function stepsOf(table: Table, rest: string): number[] {
  const steps: number[] = [];
  for (const link of Object.keys(table)) {
    const found = apart(link);
    if (found?.rest === rest) steps.push(found.step);
  }
  return steps.sort((a, b) => a - b);
}
