/**
 * How likely sampled tokens were, by the model's own logits. The twin of `kvarium.recording.sampled.likely`.
 *
 *     sampled      0      2                  of three tokens, the first and the last
 *     count        1      2
 *     top_token    9      4     17           9 goes with the first, 4 and 17 with the last
 */

import { f32, u32 } from './columns';
import { FrameError } from './frame';
import type { Logprobs } from './generated/types';

/** The natural log of a token's probability, how many were at least as likely, and the likeliest, likeliest first. */
export interface Likely {
  readonly logprob: number;
  readonly rank: number;
  readonly top: readonly (readonly [token: number, logprob: number])[];
}

/** By the places of sampled tokens in their text record. Throws a {@link FrameError} where the columns don't agree. */
export function likely(columns: Logprobs | undefined): ReadonlyMap<number, Likely> {
  const sampled = u32(columns?.sampled, 'logprobs.sampled');
  const logprob = f32(columns?.logprob, 'logprobs.logprob');
  const rank = u32(columns?.rank, 'logprobs.rank');
  const count = u32(columns?.count, 'logprobs.count');
  const tokens = u32(columns?.top_token, 'logprobs.top_token');
  const values = f32(columns?.top_logprob, 'logprobs.top_logprob');
  const told = count.reduce((sum, each) => sum + each, 0);
  for (const [name, found, wanted] of [
    ['logprob', logprob.length, sampled.length],
    ['rank', rank.length, sampled.length],
    ['count', count.length, sampled.length],
    ['top_token', tokens.length, told],
    ['top_logprob', values.length, told],
  ] as const) {
    if (found !== wanted)
      throw new FrameError(`column 'logprobs.${name}' has ${found} values, not ${wanted}`);
  }
  const found = new Map<number, Likely>();
  let first = 0;
  sampled.forEach((place, i) => {
    const end = first + count[i]!;
    const top = Array.from(tokens.subarray(first, end), (token, k) => [token, values[first + k]!] as const);
    found.set(place, { logprob: logprob[i]!, rank: rank[i]!, top });
    first = end;
  });
  return found;
}
