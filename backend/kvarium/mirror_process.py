"""A mirror as a process of its own, at the other end of two pipes.

Why a process: the exact fold is Python, and a thread that folds takes the interpreter from the event loop and the writer.
With it beside them the recorder took 0.46 million operations a second, without it 1.46 million.

    follower (a thread of the server)      ── setup, frames, ask ──▶      this process
                                           ◀── progress, keyframe ──
"""

import contextlib
import os
import signal
import sys
import time
from typing import BinaryIO

import msgspec

from kvarium.mirror import Mirror, MirrorSetup
from kvarium.recording.index_rows import IndexRows
from kvarium_ledger.codec import FrameError

INDEX_SECONDS = 0.25
INDEX_ROWS = 20_000


class Frames(msgspec.Struct, frozen=True, tag=True):
    """The frames that follow. ``missed_through``: up to there they are to be had nowhere."""

    frames: list[bytes]
    missed_through: int | None = None


class Ask(msgspec.Struct, frozen=True, tag=True):
    """``send`` a keyframe, as soon as there is a state; ``store`` one with the next record; give all ``rows``; ``finish``."""

    send: bool = False
    store: bool = False
    rows: bool = False
    finish: bool = False


class Progress(msgspec.Struct, frozen=True, tag=True):
    """How far the mirror came: one ``after`` each :class:`Frames`, one when rows are asked for, a last one ``finished``."""

    record: int
    violations: int
    fault: str | None = None
    rows: IndexRows | None = None
    after: bool = False
    finished: bool = False


class MirrorKeyframe(msgspec.Struct, frozen=True, tag=True):
    """A keyframe that was asked for."""

    record: int
    frame: bytes


ToMirror = Frames | Ask
FromMirror = Progress | MirrorKeyframe

_encoder = msgspec.msgpack.Encoder()
_setup = msgspec.msgpack.Decoder(MirrorSetup)
_to_mirror = msgspec.msgpack.Decoder(ToMirror)
_from_mirror = msgspec.msgpack.Decoder(FromMirror)


def write_message(stream: BinaryIO, message: MirrorSetup | ToMirror | FromMirror) -> None:
    """Write a message with its length before it."""
    data = _encoder.encode(message)
    stream.write(len(data).to_bytes(8, "little"))
    stream.write(data)
    stream.flush()


def _read(stream: BinaryIO) -> bytes | None:
    length = stream.read(8)
    if len(length) < 8:
        return None
    size = int.from_bytes(length, "little")
    data = stream.read(size)
    return data if len(data) == size else None


def read_from_mirror(stream: BinaryIO) -> FromMirror | None:
    """The mirror's next message; None when it has ended."""
    data = _read(stream)
    return None if data is None else _from_mirror.decode(data)


class _Process:
    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._asked = False
        self._rows_at = time.monotonic()
        data = _read(source)
        if data is None:
            raise EOFError
        self._mirror = Mirror(_setup.decode(data))

    def run(self) -> None:
        while True:
            data = _read(self._source)
            if data is None:
                return
            message = _to_mirror.decode(data)
            if isinstance(message, Frames):
                if not self._fold(message):
                    return
            else:
                self._asked |= message.send
                self._mirror.store_keyframe |= message.store
                if message.finish or message.rows:
                    self._tell(rows=True, finished=message.finish)
                if message.finish:
                    return
            self._send_keyframe()

    def _fold(self, message: Frames) -> bool:
        mirror = self._mirror
        if message.missed_through is not None:
            mirror.miss(message.missed_through)
        for frame in message.frames:
            try:
                mirror.take(frame)
            except FrameError as error:
                mirror.fault = (
                    mirror.fault or f"the server's mirror stopped after record {mirror.record}: {error}"
                )
                self._tell(rows=True, finished=True)
                return False
            self._send_keyframe()
        due = time.monotonic() - self._rows_at >= INDEX_SECONDS or len(mirror) >= INDEX_ROWS
        self._tell(rows=due, after=True)
        return True

    def _send_keyframe(self) -> None:
        if self._asked and self._mirror.loaded:
            self._asked = False
            write_message(self._sink, MirrorKeyframe(self._mirror.record, self._mirror.keyframe()))

    def _tell(self, rows: bool = False, after: bool = False, finished: bool = False) -> None:
        mirror = self._mirror
        told = mirror.rows() if rows else None
        if rows:
            self._rows_at = time.monotonic()
        progress = Progress(mirror.record, mirror.violations, mirror.fault, told, after, finished)
        write_message(self._sink, progress)


def main() -> None:
    """Serve one session on standard input and output, until the input ends."""
    # Ctrl-C is for the server, which ends this process by closing its pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(5)
    with contextlib.suppress(BrokenPipeError, EOFError):
        _Process(sys.stdin.buffer, sys.stdout.buffer).run()
    with contextlib.suppress(OSError):
        os.close(1)


if __name__ == "__main__":
    main()
