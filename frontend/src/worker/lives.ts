/** Which life of each block it is, where a reader of records stands: the generations of a state, and the births since or before. */

export class Lives {
  private readonly births = new Map<number, number>();

  constructor(private readonly base: Uint32Array) {}

  of(block: number): number {
    return this.base[block]! + (this.births.get(block) ?? 0);
  }

  /** Pass a birth of a block, on the way on (1) or back (-1). */
  pass(block: number, births: 1 | -1): void {
    this.births.set(block, (this.births.get(block) ?? 0) + births);
  }
}
