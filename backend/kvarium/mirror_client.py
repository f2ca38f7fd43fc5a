"""The server's end of a mirror process: its pipes, a thread that listens, and how much is under way."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO, cast

from kvarium.mirror import MirrorSetup
from kvarium.mirror_process import FromMirror, Progress, ToMirror, read_from_mirror, write_message

_BATCHES_UNDER_WAY = 2


class MirrorClient:
    """A mirror process that was just started. ``on_message`` is called on a thread of its own.

    ``finished``: the mirror said its last word, and did not just die.
    """

    def __init__(
        self, setup: MirrorSetup, on_message: Callable[[FromMirror], None], on_end: Callable[[], None]
    ) -> None:
        self.finished = False
        self.ended = threading.Event()
        self._on_message = on_message
        self._on_end = on_end
        self._room = threading.Semaphore(_BATCHES_UNDER_WAY)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kvarium.mirror_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._source = cast(BinaryIO, self._process.stdout)
        self._sink = cast(BinaryIO, self._process.stdin)
        self._listener = threading.Thread(target=self._listen, name="kvarium-mirror-listener", daemon=True)
        self._listener.start()
        self.send(setup)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, message: MirrorSetup | ToMirror) -> None:
        """Send a message; one that can't be sent any more is let go, and :attr:`ended` is or will be set."""
        with contextlib.suppress(BrokenPipeError):
            write_message(self._sink, message)

    def wait_room(self, timeout: float) -> bool:
        """Wait until another batch of frames may be sent; False when ``timeout`` s were not enough."""
        return self._room.acquire(timeout=timeout)

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while not self.finished:
                message = read_from_mirror(self._source)
                if message is None:
                    break
                self._on_message(message)
                if isinstance(message, Progress):
                    self.finished = message.finished
                    if message.after:
                        self._room.release()
        self.ended.set()
        self._on_end()

    def close(self) -> None:
        """End the process, if it has not ended by itself."""
        for stream in (self._sink, self._source):
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(2.0)
