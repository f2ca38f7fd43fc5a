/** What kind of frame is it, and which record? Read from its first bytes, without a decode or a checksum. */

import { openFrame } from './frame';

export interface Peek {
  readonly type: string;
  readonly record: number | null;
  /** The step of a step's or text's record. */
  readonly step: number | null;
}

/** "type", "record" and "step" as msgpack strings: an engine writes them first, in this order. */
const TYPE = [0xa4, 0x74, 0x79, 0x70, 0x65];
const RECORD = [0xa6, 0x72, 0x65, 0x63, 0x6f, 0x72, 0x64];
const STEP = [0xa4, 0x73, 0x74, 0x65, 0x70];
const HAVE_STEP = new Set(['step', 'text']);

function matches(frame: Uint8Array, at: number, expected: readonly number[]): boolean {
  return expected.every((byte, i) => frame[at + i] === byte);
}

/** Peek at a frame. Throws a FrameError when the order is unusual and the frame does not open either. */
export function peekFrame(frame: Uint8Array): Peek {
  const head = frame[0] ?? 0;
  let at = head >= 0x80 && head <= 0x8f ? 1 : head === 0xde ? 3 : -1;
  if (at > 0 && matches(frame, at, TYPE)) {
    at += TYPE.length;
    const length = (frame[at] ?? 0) - 0xa0;
    if (length > 0 && length < 0x20) {
      const type = String.fromCharCode(...frame.subarray(at + 1, at + 1 + length));
      at += 1 + length;
      if (!matches(frame, at, RECORD)) {
        if (!MAY_BEGIN_WITH_RECORD.has(type)) return { type, record: null, step: null };
      } else {
        at += RECORD.length;
        const record = integer(frame, at);
        if (!HAVE_STEP.has(type)) {
          if (record !== null) return { type, record, step: null };
        } else {
          at += sizeOf(frame[at]!);
          const step = matches(frame, at, STEP) ? integer(frame, at + STEP.length) : null;
          if (record !== null && step !== null) return { type, record, step };
        }
      }
    }
  }
  const opened = openFrame(frame);
  return {
    type: opened.type,
    record: 'record' in opened ? opened.record : null,
    step: opened.type === 'step' || opened.type === 'text' ? opened.step : null,
  };
}

const MAY_BEGIN_WITH_RECORD = new Set(['step', 'text', 'control', 'keyframe', 'gap', 'note', 'ack']);

/** Bytes of a msgpack integer that is not negative. */
function sizeOf(head: number): number {
  return head === 0xcc ? 2 : head === 0xcd ? 3 : head === 0xce ? 5 : head === 0xcf ? 9 : 1;
}

function integer(frame: Uint8Array, at: number): number | null {
  const head = frame[at];
  if (head === undefined) return null;
  if (head < 0x80) return head;
  const size = sizeOf(head) - 1;
  if (size === 0 || at + size >= frame.length) return null;
  let value = 0;
  for (let i = 1; i <= size; i++) value = value * 256 + frame[at + i]!;
  return value;
}
