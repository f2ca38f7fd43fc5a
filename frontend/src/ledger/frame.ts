/**
 * Frames: the bytes of one record or message, with a checksum over all of them. The twin of `kvarium_ledger.codec`.
 *
 *     one msgpack map, named fields | CRC-32 of it, u32 little-endian
 *
 * A stored run of frames has the length (u32, little-endian) before each; a websocket message is one frame without it.
 */

import { Decoder, Encoder } from '@msgpack/msgpack';
import { buf as crc32 } from 'crc-32';
import type { Frame } from './generated/types';

/** A frame is at most 256 MiB: a larger one is a fault, not a record. */
export const MAX_FRAME_BYTES = 1 << 28;

/** Bytes that are not a frame, or a frame whose content is not what it says it is. */
export class FrameError extends Error {
  override name = 'FrameError';
}

/** An operation or version that this page does not know: a newer version is needed. */
export class UnknownOperationError extends FrameError {
  override name = 'UnknownOperationError';
}

const RECORD_TYPES = new Set(['step', 'text', 'control', 'keyframe', 'gap', 'note']);
const MESSAGE_TYPES = new Set([
  'hello',
  'welcome',
  'rejected',
  'ack',
  'command',
  'answer',
  'health',
  'status',
  'skip',
  'bye',
]);

const decoder = new Decoder();
const encoder = new Encoder();

function hex(value: number): string {
  return `0x${(value >>> 0).toString(16).padStart(8, '0')}`;
}

/** Check and decode a frame. Throws a {@link FrameError} on a wrong checksum, an unknown type or bytes that are no map. */
export function openFrame(frame: Uint8Array): Frame {
  if (frame.length < 5) throw new FrameError(`a frame has at least 5 bytes, this one has ${frame.length}`);
  if (frame.length > MAX_FRAME_BYTES) {
    throw new FrameError(`a frame has at most ${MAX_FRAME_BYTES} bytes, this one has ${frame.length}`);
  }
  const end = frame.length - 4;
  const told =
    (frame[end]! | (frame[end + 1]! << 8) | (frame[end + 2]! << 16) | (frame[end + 3]! << 24)) >>> 0;
  const body = frame.subarray(0, end);
  const found = crc32(body) >>> 0;
  if (told !== found) {
    throw new FrameError(`the checksum of the frame is ${hex(told)}, its bytes give ${hex(found)}`);
  }
  let value: unknown;
  try {
    value = decoder.decode(body);
  } catch (error) {
    throw new FrameError(`not a record or message of this format: ${(error as Error).message}`);
  }
  const { type, record } = (value ?? {}) as { type?: unknown; record?: unknown };
  if (typeof type === 'string' && RECORD_TYPES.has(type)) {
    if (!Number.isSafeInteger(record)) throw new FrameError(`a ${type} without a record number`);
  } else if (typeof type !== 'string' || !MESSAGE_TYPES.has(type)) {
    throw new FrameError(
      `not a record or message of this format: type ${JSON.stringify(type ?? null).slice(0, 40)}`,
    );
  }
  return value as Frame;
}

/** Encode a record or message and put its CRC-32 behind it. */
export function sealFrame(value: Frame): Uint8Array {
  const body = encoder.encode(value);
  const frame = new Uint8Array(body.length + 4);
  frame.set(body);
  new DataView(frame.buffer).setUint32(body.length, crc32(body) >>> 0, true);
  return frame;
}

/** Put frames one behind the other, each with its length before it. */
export function packFrames(frames: readonly Uint8Array[]): Uint8Array {
  const packed = new Uint8Array(frames.reduce((sum, frame) => sum + 4 + frame.length, 0));
  const view = new DataView(packed.buffer);
  let offset = 0;
  for (const frame of frames) {
    view.setUint32(offset, frame.length, true);
    packed.set(frame, offset + 4);
    offset += 4 + frame.length;
  }
  return packed;
}

/** The frames of {@link packFrames}, without a copy. Throws a {@link FrameError} when the last one is cut off. */
export function unpackFrames(data: Uint8Array): Uint8Array[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const frames: Uint8Array[] = [];
  let offset = 0;
  while (offset < data.length) {
    const length = offset + 4 <= data.length ? view.getUint32(offset, true) : -1;
    const end = offset + 4 + length;
    if (length < 0 || length > MAX_FRAME_BYTES || end > data.length) {
      throw new FrameError(
        `a frame of ${length} bytes at offset ${offset} does not fit into ${data.length} bytes`,
      );
    }
    frames.push(data.subarray(offset + 4, end));
    offset = end;
  }
  return frames;
}
