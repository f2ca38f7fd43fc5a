import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { recording } from '../../tests/recording';
import { packFrames, sealFrame } from '../ledger/frame';
import { peekFrame } from '../ledger/peek';
import { EmbeddedRequests } from './embedded';

const SIZE = 7;
const made = recording(24, 4, 5, 60);
const { frames, records, lastStep } = made;
const never = new AbortController().signal;

function part(data: Uint8Array | string): Blob {
  return new Blob([deflateSync(data).toString('base64')]);
}

/** The recording in parts, as an export writes them: so few records a part that every answer needs several. */
function parts(left: readonly Uint8Array[] = frames): Map<string, Blob> {
  const found = new Map<string, Blob>();
  const [first, last]: [number[], number[]] = [[], []];
  for (let at = 0; at < left.length; at += SIZE) {
    const some = left.slice(at, at + SIZE);
    found.set(`frames-${first.length}`, part(packFrames(some)));
    first.push(peekFrame(some[0]!).record!);
    last.push(peekFrame(some.at(-1)!).record!);
  }
  const keyframes = records.filter(({ type }) => type === 'keyframe');
  keyframes.forEach((keyframe, i) => {
    found.set(`keyframe-${i}`, part(sealFrame(keyframe)));
  });
  const steps = records.filter((record) => record.type === 'step');
  const half = steps.length >> 1;
  [steps.slice(0, half), steps.slice(half)].forEach((some, i) => {
    const columns = { step: some.map(({ step }) => step), record: some.map(({ record }) => record) };
    found.set(`steps-${i}`, part(JSON.stringify(columns)));
  });
  const careers = { request: [3], name: ['a'], state: ['waiting'], preemptions: [0], submitted_step: [1] };
  found.set('careers', part(JSON.stringify({ ...careers, admitted_step: [null], ended_step: [null] })));
  found.set('pieces', part('{"3":"caf"}'));
  const landmarks = [{ step: 1, record: 2, kind: 'note', count: 1, message: 'here' }];
  const index = {
    ...{ hello: '', block_size: 4, state: 'ended', last_step: lastStep, last_record: records.length - 1 },
    ...{ frames: { first, last }, keyframes: keyframes.map(({ record }) => record), steps: 2, landmarks },
    contents: { first: [], last: [], first_record: [], last_record: [] },
    requests: { request: [], record: [] },
  };
  found.set('index', part(JSON.stringify(index)));
  return found;
}

describe('a recording in the page', () => {
  it('gives for every step a keyframe before it and all frames through it', async () => {
    const requests = new EmbeddedRequests(parts());
    for (let step = 0; step <= lastStep; step++) {
      const [keyframe, ...rest] = await requests.seek(step, null, never);
      const begin = peekFrame(keyframe!);
      expect(begin.type).toBe('keyframe');
      const numbers = rest.map((frame) => peekFrame(frame).record);
      expect(numbers).toEqual(numbers.map((_, i) => begin.record! + 1 + i));
      expect(rest.some((frame) => peekFrame(frame).type === 'step' && peekFrame(frame).step === step)).toBe(
        true,
      );
    }
  });

  it('gives the frames after any record as they were written', async () => {
    const requests = new EmbeddedRequests(parts());
    for (const after of [-1, 0, 5, SIZE - 1, SIZE, records.length - 2])
      expect(await requests.frames(after, 1 << 30)).toEqual(frames.slice(after + 1));
    expect(await requests.frames(records.length - 1)).toEqual([]);
    expect(await requests.frames(3, 1)).toEqual([frames[4]]);
  });

  it('has the whole table of steps, landmarks by kind, and pieces', async () => {
    const requests = new EmbeddedRequests(parts());
    expect((await requests.steps()).step).toEqual(Array.from({ length: lastStep + 1 }, (_, i) => i));
    expect((await requests.landmarks(['gap'])).landmarks).toEqual([]);
    expect((await requests.landmarks(['note', 'gap'])).landmarks).toHaveLength(1);
    expect((await requests.pieces()).pieces).toEqual({ 3: 'caf' });
  });

  it('tells when requests came, from its table of them', async () => {
    const query = { from: 0, to: lastStep + 1, count: 5, at: 0, offset: 0, selected: null };
    const { requests, total, through } = await new EmbeddedRequests(parts()).careers(query);
    expect(requests).toEqual([expect.objectContaining({ request: 3, submitted_step: 1, ended_step: null })]);
    expect([total, through]).toEqual([1, lastStep]);
  });

  it('says what it does not hold', async () => {
    const requests = new EmbeddedRequests(parts());
    await expect(requests.seek(lastStep + 1, null, never)).rejects.toThrow(`holds steps 0 to ${lastStep}`);
    await expect(requests.transcript(9)).rejects.toThrow('no request 9');
    const holed = new EmbeddedRequests(parts(frames.filter((_, i) => i !== 12 && i !== 13)));
    const behind = records.find(({ type, record }) => type === 'step' && record > 13) as { step: number };
    await expect(holed.seek(behind.step, null, never)).rejects.toThrow('records 12 to 13 were not stored');
  });

  it('refuses a part that is damaged or not there, by its name', async () => {
    const damaged = parts();
    damaged.set('pieces', new Blob(['eJwD']));
    await expect(new EmbeddedRequests(damaged).pieces()).rejects.toThrow('part pieces is damaged');
    damaged.delete('index');
    await expect(new EmbeddedRequests(damaged).hello()).rejects.toThrow('lacks its part index');
  });
});
