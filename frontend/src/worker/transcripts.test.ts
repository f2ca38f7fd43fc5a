import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Talk, talk } from '../../tests/talk';
import { RequestMemory } from '../ledger/requests';
import { LOST } from './pieces';
import { Transcripts } from './transcripts';

// A step's text is the record behind it (the even ones here): until that has come, it is merely on its way.

/** What each sequence had said at a record, as the talk itself knows. */
function truth(made: Talk, record: number) {
  return made.voices
    .filter((voice) => voice.created <= record)
    .map((voice) => ({ voice, tokens: voice.tokens.filter((_, i) => voice.records[i]! <= record) }));
}

function expectTruth(transcripts: Transcripts, made: Talk, record: number, complete: boolean): void {
  for (const { voice, tokens } of truth(made, record)) {
    if (!transcripts.complete(voice.request, record)) {
      expect(complete, `request ${voice.request} at ${record}`).toBe(false);
      continue;
    }
    const line = transcripts.sampled(voice.request, voice.sequence, record);
    const known = transcripts.get(voice.request)!;
    const { ending } = known.branches.get(voice.sequence)!;
    const by = (each: { record: number } | null) => (each !== null && each.record <= record ? each : null);
    // As text: it is compared a hundred thousand times.
    const found = [line.tokens, line.likely ?? tokens.map(() => null), known.prompt, by(ending)];
    const expected = [tokens, voice.likely.slice(0, tokens.length), voice.prompt, by(voice.ending)];
    expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
    if (voice.index !== 0) continue;
    const best = made.found
      .filter((each) => each.request === voice.request && each.record <= record)
      .sort((one, two) => two.score - one.score);
    expect(
      JSON.stringify(
        transcripts
          .hypotheses(voice.request, record)
          .map((each) => [each.rank, each.sequence, each.score, each.record, each.tokens]),
      ),
    ).toBe(
      JSON.stringify(best.map((each, rank) => [rank, each.sequence, each.score, each.record, each.tokens])),
    );
  }
}

test('a request is sampled as the command asked that submitted it, whoever tells of it', () => {
  const transcripts = new Transcripts(new RequestMemory());
  const control = { type: 'control', record: 1, time: 0, id: 'c', name: 'submit' } as const;
  transcripts.note({ ...control, args: { request: 4, seed: 7 } });
  transcripts.note({ ...control, args: { request: 5 }, error: 'there is no room' });
  transcripts.note({ ...control, name: 'abort', args: { request: 6 } });
  expect([4, 5, 6].map((request) => transcripts.get(request)?.submit)).toEqual([
    { request: 4, seed: 7 },
    undefined,
    undefined,
  ]);
  const told = { record: 9, submitted: 2, facts: null, ending: null, prompt: null, text: null, why: null };
  for (const request of [4, 8])
    transcripts.merge({ ...told, request, gaps: [], sequences: [], submit: { request, seed: 8 } });
  expect(transcripts.get(4)?.submit).toEqual({ request: 4, seed: 7 });
  expect(transcripts.get(8)?.submit).toEqual({ request: 8, seed: 8 });
});

const part = fc.record({ from: fc.nat(80), count: fc.nat(60) });

describe('transcripts', () => {
  test('that saw all records know at each of them exactly what there was, whatever came later', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const made = talk(seed, 40);
        const transcripts = new Transcripts(made.memory);
        for (const record of made.records) transcripts.note(record);
        for (let record = 0; record < made.records.length; record += 2)
          expectTruth(transcripts, made, record, true);
        for (const [request, record] of made.ended)
          expect(transcripts.get(request)?.ending).toMatchObject({ record, reason: 'length' });
      }),
      { numRuns: 30 },
    );
  });

  test('that saw parts, again and again and in any order, never say that they know what they do not', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(part, { maxLength: 8 }), (seed, parts) => {
        const made = talk(seed, 40);
        const transcripts = new Transcripts(made.memory);
        for (const { from, count } of parts)
          for (const record of made.records.slice(from, from + count)) transcripts.note(record);
        for (let record = 0; record < made.records.length; record += 2)
          expectTruth(transcripts, made, record, false);
      }),
      // An end that is seen before its sequence's beginning.
      {
        examples: [
          [
            -1640904525,
            [
              { from: 12, count: 5 },
              { from: 5, count: 8 },
            ],
          ],
        ],
      },
    );
  });

  test('merged with what the server tells, before or after, are whole up to where both reach', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.nat(79),
        fc.array(part, { maxLength: 5 }),
        fc.boolean(),
        (seed, through, parts, first) => {
          const made = talk(seed, 40);
          const transcripts = new Transcripts(made.memory);
          const merge = (): void => {
            for (const [request, record] of made.submitted)
              if (record <= through) transcripts.merge(made.told(request, through));
          };
          if (first) merge();
          for (const { from, count } of parts)
            for (const record of made.records.slice(from, from + count)) transcripts.note(record);
          if (!first) merge();
          for (let record = 0; record < made.records.length; record += 2)
            expectTruth(transcripts, made, record, record <= through);
          for (const record of made.records.slice(through)) transcripts.note(record);
          const end = made.records.length - 1;
          expectTruth(transcripts, made, end, true);
        },
      ),
    );
  });

  test('keep to their bound, say what they dropped, and are whole again with the server’s answer', () => {
    const made = talk(7, 60);
    const kept = new Set([0]);
    const transcripts = new Transcripts(made.memory, (request) => kept.has(request), 60);
    for (const record of made.records) transcripts.note(record);
    const end = made.records.length - 1;
    const requests = [...made.submitted.keys()];
    const size = (request: number): number =>
      [...(transcripts.get(request)?.branches.values() ?? [])].reduce(
        (sum, each) => sum + each.tokens.length,
        transcripts.get(request)?.prompt?.length ?? 0,
      );
    const total = requests.reduce((sum, request) => sum + size(request), 0);
    expect(total - size(0)).toBeLessThanOrEqual(60);
    expect(transcripts.complete(0, end)).toBe(true);
    expectTruth(transcripts, made, end, false);
    const gone = requests.filter((request) => !transcripts.complete(request, end));
    expect(gone.length).toBeGreaterThan(0);
    kept.add(gone[0]!);
    transcripts.merge(made.told(gone[0]!, end));
    expect(transcripts.complete(gone[0]!, end)).toBe(true);
    expectTruth(transcripts, made, end, false);
  });

  test('forget requests, and know that they do until the server tells of them', () => {
    const made = talk(7, 60);
    const transcripts = new Transcripts(made.memory);
    for (const record of made.records) transcripts.note(record);
    const end = made.records.length - 1;
    const [one, two] = [...made.submitted.keys()] as [number, number];
    transcripts.forget(new Set([one, two]));
    expect([one, two].map((request) => transcripts.get(request))).toEqual([undefined, undefined]);
    // Told again of what was there before: that is not all of it.
    for (const record of made.records.slice(0, 20)) transcripts.note(record);
    expect(transcripts.complete(one, end)).toBe(false);
    transcripts.merge(made.told(one, end));
    expect(transcripts.complete(one, end)).toBe(true);
    expectTruth(transcripts, made, end, false);
  });

  test('a token that the server knows of and does not have is lost, until a record brings it', () => {
    const made = talk(3, 30);
    const voice = made.voices.find((each) => each.taken === 0 && each.tokens.length > 3)!;
    const end = made.records.length - 1;
    const transcripts = new Transcripts(made.memory);
    const told = made.told(voice.request, end);
    transcripts.merge({
      ...told,
      sequences: told.sequences.map((row) => ({
        ...row,
        tokens: row.tokens!.map((token, i) => (row.sequence === voice.sequence && i === 1 ? null : token)),
      })),
    });
    const said = (): readonly number[] => transcripts.sampled(voice.request, voice.sequence, end).tokens;
    expect(said()).toEqual(voice.tokens.map((token, i) => (i === 1 ? LOST : token)));
    for (const record of made.records) transcripts.note(record);
    expect(said()).toEqual(voice.tokens);
  });
});
