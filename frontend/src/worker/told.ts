/** What the server tells of a request: its answer to `GET …/requests/{request}/tokens`. */

export interface Told {
  readonly request: number;
  /** As of this record. */
  readonly record: number;
  readonly submitted: number;
  readonly facts: {
    readonly name: string;
    readonly prompt_tokens: number;
    readonly max_tokens: number;
    readonly n: number;
    readonly priority: number;
    readonly beam_width?: number | null;
    readonly lora_name?: string | null;
  } | null;
  readonly ending: Ending | null;
  readonly prompt: readonly number[] | null;
  readonly text: string | null;
  readonly why: string | null;
  /** The arguments of the command that submitted it; null: there was none, or it is not recorded. */
  readonly submit?: SubmitArgs | null;
  readonly gaps: readonly (readonly [number, number])[];
  readonly sequences: readonly {
    readonly sequence: number;
    readonly index: number;
    readonly parent: number | null;
    readonly created: number;
    readonly tokens: readonly (number | null)[] | null;
    readonly records: readonly number[];
    /** One for each token, where its request asked for them. */
    readonly logprobs?: readonly (ToldLikely | null)[];
    /** How it ended before its request did. */
    readonly ending?: SequenceEnding | null;
  }[];
  /** What a beam search found, best first. */
  readonly hypotheses?: readonly {
    readonly sequence: number;
    readonly score: number;
    readonly reason: 'stop' | 'length';
    readonly record: number;
    readonly step: number;
    readonly tokens: readonly (number | null)[] | null;
  }[];
}

/** As they are recorded: texts and lists by their lengths. */
export type SubmitArgs = Readonly<Record<string, string | number | boolean | null>>;

export interface ToldLikely {
  readonly logprob: number;
  readonly rank: number;
  readonly top: readonly (readonly [number, number])[];
}

/** How a request ended. */
export interface Ending {
  readonly record: number;
  readonly step: number;
  readonly kind: 'finished' | 'aborted' | 'refused';
  readonly reason: string | null;
  readonly message: string | null;
  /** The stop id or the stop string that was met. */
  readonly stop_reason?: number | string | null;
}

/** How a sequence ended before its request; without a reason: a beam of a search that was left behind. */
export interface SequenceEnding {
  readonly record: number;
  readonly reason: 'stop' | 'length' | null;
  readonly stop_reason?: number | string | null;
}
