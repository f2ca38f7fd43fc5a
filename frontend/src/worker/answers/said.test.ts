import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type Talk, talk } from '../../../tests/talk';
import { Fold } from '../../ledger/fold';
import { RequestMemory } from '../../ledger/requests';
import { Texts } from '../texts';
import { Sayings } from './said';

const SIZE = 4;

interface Told {
  readonly texts: Texts;
  readonly sayings: Sayings;
  readonly transcript: ReturnType<typeof vi.fn>;
}

function listening(made: Talk, recorded = true): Told {
  const transcript = vi.fn(async (request: number) => made.told(request, made.records.length - 1));
  const pieces = async () => ({ pieces: { '1': 'one' }, indexed_record: made.records.length - 1 });
  const contents = async (ids: readonly number[]) =>
    ids.filter((id) => id < 10).map((content) => ({ content, tokens: [1, 1, 5, 1] }));
  const texts = new Texts(recorded, SIZE, made.memory, { transcript, pieces, contents }, () => {});
  return { texts, sayings: new Sayings(texts), transcript };
}

beforeEach(() => {
  vi.useFakeTimers();
});

describe('what is said of a request', () => {
  const made = talk(11, 60);
  // One that speaks for a while, alone.
  const voice = made.voices.find((each) => each.taken === 0 && each.tokens.length >= 8)!;
  const end = made.records.length - 1;

  test('is what its records tell, by ids where there are no pieces, and nothing of it is asked for', async () => {
    const { texts, sayings, transcript } = listening(made);
    for (const record of made.records) texts.note(record);
    expect(sayings.request(voice.request, end)).toMatchObject({ state: 'here', why: null });
    expect(sayings.sequence(voice.request, voice.sequence, end, null)?.spans).toEqual([
      { ids: voice.tokens },
    ]);
    const third = voice.records[2]!;
    expect(sayings.sequence(voice.request, voice.sequence, third, null)).toMatchObject({
      spans: [{ ids: voice.tokens.slice(0, 3) }],
      tokens: 3,
    });
    await vi.runAllTimersAsync();
    expect(transcript).not.toHaveBeenCalled();
  });

  test('comes from the server once, where this page did not see it from its beginning', async () => {
    const { texts, sayings, transcript } = listening(made);
    for (const record of made.records.slice(voice.records[3]!)) texts.note(record);
    expect(sayings.request(voice.request, end).state).toBe('loading');
    expect(sayings.request(voice.request, end).state).toBe('loading');
    await vi.runAllTimersAsync();
    expect(sayings.request(voice.request, end).state).toBe('here');
    expect(sayings.sequence(voice.request, voice.sequence, end, null)?.spans).toEqual([
      { ids: voice.tokens },
    ]);
    expect(transcript).toHaveBeenCalledTimes(1);
  });

  test('has a mark where records are lost, with how many tokens where that can be known', () => {
    const { texts, sayings } = listening(made);
    const first = voice.records[3]!;
    const last = voice.records[5]! + 1;
    for (const record of made.records.slice(0, first)) texts.note(record);
    texts.note({ type: 'gap', record: last, time: 0, first, last: last - 1, reason: 'a test' });
    for (const record of made.records.slice(last + 1)) texts.note(record);
    const said = (length: number | null) =>
      sayings.sequence(voice.request, voice.sequence, end, length)?.spans;
    const parts = [{ ids: voice.tokens.slice(0, 3) }, { ids: voice.tokens.slice(6) }] as const;
    expect(said(voice.tokens.length)).toEqual([parts[0], { missing: 3 }, parts[1]]);
    expect(said(null)).toEqual([parts[0], { missing: null }, parts[1]]);
    // Before the gap there is none.
    const before = sayings.sequence(voice.request, voice.sequence, voice.records[1]!, 2)?.spans;
    expect(before).toEqual([{ ids: voice.tokens.slice(0, 2) }]);
  });

  test('is nothing, and is not asked for, in a session without text', async () => {
    const { texts, sayings, transcript } = listening(made, false);
    for (const record of made.records) if (record.type !== 'text') texts.note(record);
    expect(sayings.request(voice.request, end)).toEqual({ state: 'none', prompt: null, why: null });
    expect(sayings.sequence(voice.request, voice.sequence, end, 9)).toBeNull();
    await vi.runAllTimersAsync();
    expect(transcript).not.toHaveBeenCalled();
  });
});

describe('how likely tokens were', () => {
  const made = talk(11, 60);
  const end = made.records.length - 1;
  const speaks = (asked: boolean) =>
    made.voices.find((each) => (each.request % 2 === 0) === asked && each.tokens.length >= 6)!;

  test('is told token by token where the request asked, and not where it did not', () => {
    const { texts, sayings } = listening(made);
    for (const record of made.records) texts.note(record);
    const voice = speaks(true);
    for (const record of [voice.records[2]!, end]) {
      const heard = voice.likely.filter((_, i) => voice.records[i]! <= record);
      const odds = sayings.sequence(voice.request, voice.sequence, record, null)?.odds;
      expect(Array.from(odds!.logprobs)).toEqual(heard.map((each) => each!.logprob));
      expect(odds).toMatchObject({ sequence: voice.sequence, first: 0 });
      expect(odds!.parts.map(({ from }) => from)).toEqual(heard.map((_, i) => i));
      expect(Array.from(odds!.ids)).toEqual(voice.tokens.slice(0, heard.length));
    }
    const silent = speaks(false);
    expect(sayings.sequence(silent.request, silent.sequence, end, null)?.odds).toBeNull();
    const { request, tokens, likely } = voice;
    const place = likely.findIndex((each) => each!.top.length > 1);
    expect(sayings.token(voice.sequence, place, end, made.memory)).toEqual({
      ...{ sequence: voice.sequence, place, token: tokens[place], piece: null },
      ...{ logprob: likely[place]!.logprob, rank: likely[place]!.rank },
      top: likely[place]!.top.map(([token, logprob]) => ({ token, piece: null, logprob })),
    });
    // Before it was sampled there is none.
    expect(sayings.token(voice.sequence, place, voice.records[place]! - 1, made.memory)).toBeNull();
    expect(sayings.token(silent.sequence, 0, end, made.memory)).toBeNull();
    // In the block that its last tokens stand in.
    const fold = new Fold(8, SIZE, undefined, made.memory);
    fold.record = end;
    const { prompt } = texts.transcripts.get(request)!;
    const position = Math.floor(prompt!.length / SIZE);
    fold.tables.enter(voice.sequence, 0, position, 5);
    fold.blocks.filled[5] = SIZE;
    const first = position * SIZE - prompt!.length;
    const logprobs = Array.from({ length: SIZE }, (_, i) => likely[first + i]?.logprob ?? Number.NaN);
    expect(sayings.slots(fold, 5).odds).toEqual({
      ...{ sequence: voice.sequence, first, logprobs: Float32Array.from(logprobs) },
    });
    // A block of the prompt alone has none.
    fold.tables.enter(voice.sequence, 0, 0, 6);
    fold.blocks.filled[6] = 1;
    expect(sayings.slots(fold, 6).odds).toBeNull();
  });
});

describe('the slots of a block', () => {
  const made: Talk = { ...talk(2, 4), memory: new RequestMemory() };

  function fold(): Fold {
    const found = new Fold(8, SIZE, undefined, made.memory);
    found.record = made.records.length - 1;
    found.blocks.filled[3] = SIZE;
    found.blocks.content[3] = 7;
    return found;
  }

  test('have the tokens of its content, asked for where they are not here', async () => {
    const { sayings } = listening(made);
    expect(sayings.slots(fold(), 3).state).toBe('loading');
    await vi.runAllTimersAsync();
    expect(sayings.slots(fold(), 3)).toEqual({
      tokens: [1, 1, 5, 1],
      pieces: ['one', 'one', null, 'one'],
      odds: null,
      state: 'here',
    });
    expect(sayings.start(7, 1)).toBe('oneone');
    expect(sayings.slots(fold(), 2)).toEqual({ tokens: [], pieces: [], odds: null, state: 'none' });
  });

  test('of a content that is not recorded are said to be so after some tries', async () => {
    const { sayings } = listening(made);
    const lost = fold();
    lost.blocks.content[3] = 12;
    for (let i = 0; i < 5; i++) {
      expect(sayings.slots(lost, 3).state).toBe('loading');
      await vi.runAllTimersAsync();
      vi.advanceTimersByTime(1000);
    }
    expect(sayings.slots(lost, 3).state).toBe('none');
  });

  test('of a block without content are written by the sequence that holds it, its prompt first', () => {
    const talked = talk(11, 60);
    const { texts, sayings } = listening(talked);
    for (const record of talked.records) texts.note(record);
    const voice = talked.voices.find((each) => each.tokens.length >= 8)!;
    const found = new Fold(8, SIZE, undefined, talked.memory);
    found.record = talked.records.length - 1;
    const line = [...voice.prompt, ...voice.tokens];
    found.tables.enter(voice.sequence, 0, 1, 5);
    found.blocks.filled[5] = 3;
    expect(sayings.slots(found, 5).tokens).toEqual(line.slice(SIZE, SIZE + 3));
  });
});
