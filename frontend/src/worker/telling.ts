/**
 * What a request's sequences said, collected from the records themselves: a server's answer where there is none.
 *
 * Who samples in a step is told by the step's record, which tokens by the text record behind it. Read from the request's
 * submission to its end; what was told before the first of these records may be given.
 */

import { openFrame } from '../ledger/frame';
import { factsOf } from '../ledger/requestFacts';
import { RequestMemory } from '../ledger/requests';
import { LOST } from './pieces';
import type { Told } from './told';
import { type Transcript, Transcripts } from './transcripts';

/** A frame with what its first bytes say. */
export interface FrameOf {
  readonly type: string;
  readonly record: number;
  readonly step: number | null;
  readonly bytes: Uint8Array;
}

/** What is read of a request; the rest says nothing of it. */
const TELLING = new Set(['step', 'text', 'keyframe', 'gap', 'control']);

/** `known`: what was said before the first of `frames`, which begin where the request does otherwise. */
export async function readTold(
  request: number,
  known: Told | null,
  frames: AsyncIterable<FrameOf>,
  through: number,
): Promise<Told> {
  const memory = new RequestMemory();
  const transcripts = new Transcripts(memory, (each) => each === request);
  let facts = known?.facts ?? null;
  let previous: number | null = null;
  const lost: [number, number][] = known?.gaps.map(([first, last]) => [first, last]) ?? [];
  if (known !== null) transcripts.merge(known);
  for await (const { type, record, bytes } of frames) {
    const ending = transcripts.get(request)?.ending ?? null;
    // The text of its last step is the record behind it.
    if (ending !== null && !(type === 'text' && record === ending.record + 1)) break;
    if (previous !== null && record > previous + 1 && type !== 'gap') lost.push([previous + 1, record - 1]);
    previous = record;
    if (!TELLING.has(type)) continue;
    const opened = openFrame(bytes);
    if (opened.type === 'step') {
      for (const decision of opened.decisions ?? []) {
        if (decision.kind === 'sequence_created') memory.sequences.set(decision.sequence, decision);
        else if (decision.kind === 'submitted' && decision.request === request) facts = factsTold(decision);
      }
    } else if (opened.type === 'keyframe') {
      for (const row of opened.sequences ?? []) memory.sequences.set(row.sequence, row);
      facts ??= factsTold(opened.requests?.find((each) => each.request === request) ?? null);
    } else if (opened.type === 'gap') lost.push([opened.first, opened.last]);
    if (
      opened.type === 'step' ||
      opened.type === 'text' ||
      opened.type === 'keyframe' ||
      opened.type === 'gap' ||
      opened.type === 'control'
    )
      transcripts.note(opened);
  }
  const found = transcripts.get(request);
  if (found === undefined) throw new Error(`the records do not tell of request ${request}`);
  return told(request, through, facts, lost, found, transcripts);
}

function told(
  request: number,
  record: number,
  facts: Told['facts'],
  gaps: Told['gaps'],
  found: Transcript,
  transcripts: Transcripts,
): Told {
  const { prompt, text, why, ending, submit, branches } = found;
  const sequences = [...branches].map(([sequence, branch]) => ({
    ...{ sequence, index: branch.index, parent: branch.parent, created: branch.created },
    tokens: branch.tokens.map((token) => (token === LOST ? null : token)),
    records: branch.records,
    ending: branch.ending,
    ...(branch.isAsked ? { logprobs: branch.tokens.map((_, place) => branch.likelyAt(place)) } : {}),
  }));
  const hypotheses = transcripts.hypotheses(request, record);
  const submitted = found.submitted ?? Math.min(...sequences.map(({ created }) => created), record);
  const said = { prompt, text, why, sequences, hypotheses };
  return { request, record, submitted, facts, submit, ending, gaps, ...said };
}

/** The facts as a server tells them. */
function factsTold(row: Parameters<typeof factsOf>[0] | null): Told['facts'] {
  if (row === null) return null;
  const { name, prompt_tokens, max_tokens } = row;
  const { n, priority, beamWidth: beam_width, loraName: lora_name } = factsOf(row);
  return { name, prompt_tokens, max_tokens, n, priority, beam_width, lora_name };
}
