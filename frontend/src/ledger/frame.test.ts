import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameError, openFrame, packFrames, sealFrame, unpackFrames } from './frame';
import type { Note } from './generated/types';

const notes = fc.record({
  type: fc.constant('note' as const),
  record: fc.nat(),
  time: fc.nat(),
  text: fc.string(),
});

test('a frame opens to what was sealed', () => {
  fc.assert(
    fc.property(notes, (note: Note) => {
      expect(openFrame(sealFrame(note))).toEqual(note);
    }),
  );
});

test('a frame with any byte changed does not open', () => {
  fc.assert(
    fc.property(notes, fc.nat(), fc.integer({ min: 1, max: 255 }), (note, at, change) => {
      const frame = sealFrame(note);
      frame[at % frame.length]! ^= change;
      expect(() => openFrame(frame)).toThrow(FrameError);
    }),
  );
});

test('frames that are packed come out as they went in, and a run that is cut off is refused', () => {
  fc.assert(
    fc.property(fc.array(notes, { minLength: 1, maxLength: 5 }), fc.nat(), (all, cut) => {
      const packed = packFrames(all.map(sealFrame));
      expect(unpackFrames(packed).map(openFrame)).toEqual(all);
      const end = 1 + (cut % (packed.length - 1));
      const whole = unpackFrames(packed).map((frame) => frame.byteOffset + frame.length);
      if (!whole.includes(end)) expect(() => unpackFrames(packed.subarray(0, end))).toThrow(FrameError);
    }),
  );
});

test('what is no record or message is refused', () => {
  expect(() => openFrame(sealFrame({ type: 'nonsense' } as never))).toThrow(/type "nonsense"/);
  expect(() => openFrame(sealFrame({ type: 'step' } as never))).toThrow(/without a record number/);
  expect(() => openFrame(sealFrame(7 as never))).toThrow(FrameError);
  expect(() => openFrame(new Uint8Array(3))).toThrow(/at least 5 bytes/);
});
