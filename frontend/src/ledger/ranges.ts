/** Numbers of records in runs without a hole. */

export interface Range {
  first: number;
  last: number;
}

export class Ranges {
  /** Disjoint, ascending, never adjacent. */
  readonly list: Range[] = [];

  /** Enter the numbers from `first` to `last`, both included. */
  add(first: number, last = first): void {
    const { list } = this;
    // Most often it is the one after the last.
    const end = list.at(-1);
    if (end !== undefined && first === end.last + 1) {
      end.last = last;
      return;
    }
    let from = 0;
    while (from < list.length && list[from]!.last < first - 1) from++;
    let to = from;
    const whole = { first, last };
    while (to < list.length && list[to]!.first <= last + 1) {
      whole.first = Math.min(whole.first, list[to]!.first);
      whole.last = Math.max(whole.last, list[to]!.last);
      to++;
    }
    list.splice(from, to - from, whole);
  }

  /** Leave out the numbers that are in none of `others`, which are runs as these are. */
  keep(others: readonly Range[]): void {
    const kept = this.list.flatMap((run) =>
      others
        .filter((other) => other.first <= run.last && other.last >= run.first)
        .map((other) => ({ first: Math.max(run.first, other.first), last: Math.min(run.last, other.last) })),
    );
    this.list.splice(0, this.list.length, ...kept);
  }

  has(number: number): boolean {
    return this.holds(number - 1, number);
  }

  /** Are all numbers after `from` up to and with `to` there? */
  holds(from: number, to: number): boolean {
    if (to <= from) return true;
    return this.list.some((range) => range.first <= from + 1 && range.last >= to);
  }

  /** The run that holds a number, or that ends right before it. */
  at(number: number): Range | undefined {
    return this.list.find((range) => number >= range.first - 1 && number <= range.last);
  }
}
