/** What never changes of a request, from wherever it is told. */

import type { Submitted } from './generated/types';

/** What never changes of a request: kept after its end, as undoing may bring it back. */
export interface RequestFacts {
  readonly name: string;
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly n: number;
  readonly priority: number;
  /** Of waiting requests the smallest is next; of equals the smallest place. The server, asked later, does not tell it. */
  readonly precedence?: number;
  /** Beams of a search; null: it is none. */
  readonly beamWidth: number | null;
  /** An extra key of its blocks' hashes. */
  readonly loraName: string | null;
  /** Another one. A text: keyframes and the server do not tell it. */
  readonly cacheSalt?: string | null;
}

/** The facts as a decision tells them, or the server. */
export function factsOf(told: ToldFacts): RequestFacts {
  return {
    name: told.name,
    promptTokens: told.prompt_tokens,
    maxTokens: told.max_tokens,
    n: told.n ?? 1,
    priority: told.priority ?? 0,
    precedence: told.precedence ?? 0,
    beamWidth: told.beam_width ?? null,
    loraName: told.lora_name ?? null,
    cacheSalt: told.cache_salt ?? null,
  };
}

type ToldFacts = Pick<Submitted, 'name' | 'prompt_tokens' | 'max_tokens'> &
  Partial<Pick<Submitted, 'n' | 'priority' | 'precedence' | 'beam_width' | 'lora_name' | 'cache_salt'>>;
