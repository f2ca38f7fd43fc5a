/** What a follower finds wrong: never thrown, always reported, with the record at which it went wrong. */

export type ViolationKind = 'operation' | 'decision' | 'digest' | 'audit' | 'invariant' | 'order' | 'frame';

export interface Violation {
  /**
   * `operation`, `decision`: it does not find what it must; `digest`: this mirror differs from what the record says;
   * `audit`: the engine's real objects differ from the ledger; `invariant`: the state is not lawful; `order`: a record
   * or operation is missing, doubled or out of place; `frame`: bytes that can't be read.
   */
  readonly kind: ViolationKind;
  readonly record: number;
  readonly op: number | null;
  readonly message: string;
}
