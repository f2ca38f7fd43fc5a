"""Who sends a recording: it connects to a server as an engine does, and is one for it.

    recording ──▶ feed: waits for a frame's time, and for room ──▶ Outbox ──▶ Uplink ──▶ server
                    ▲                                                 ▲          │
                    └────────── commands, answered "a recording" ◀────┴── acks ──┘

The session is a new one: an id of its own, and a name that says what is replayed. Its records are those of the recording, byte
for byte, so the version of the format is the recording's too.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
import uuid
from dataclasses import dataclass
from types import FrameType

import msgspec

from kvarium.errors import KvariumError
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Frame, Reader
from kvarium.replaying.frames import Span, replayed
from kvarium_ledger.messages import Answer, Bye, Health, Hello
from kvarium_ledger.outbox import Outbox
from kvarium_ledger.uplink import Uplink

CONNECT_S = 20.0
"""How long the first connection is tried."""

GONE_S = 20.0
"""How long a server may be gone, or at the end acknowledge nothing, before the replay ends without it."""

_OUTBOX_BYTES = 64 << 20
_TICK_S = 0.1
REFUSAL = "this is a recording that is replayed: nothing can be asked of its engine"


@dataclass(frozen=True)
class ReplayOptions:
    """Where to, how fast (``speed`` 1: as it was; 0: as fast as it is taken) and how the end is told."""

    url: str
    token: str
    speed: float = 1.0
    as_json: bool = False


def replay_name(row: Row) -> str:
    """What a replay's session is called."""
    name = row["name"] or "a session without a name"
    return f"replay of {row['id'][:8]}: {name}"[:200]


class Replay:
    """One replay of ``wanted`` of a session. :meth:`run` sends it and returns when all is acknowledged, or a signal came."""

    def __init__(self, reader: Reader, session: int, wanted: Span, options: ReplayOptions) -> None:
        self._frames = replayed(reader, session, wanted)
        self._options = options
        hello, _ = reader.hello(session)
        self.hello: Hello = msgspec.structs.replace(
            hello,
            session=str(uuid.uuid4()),
            name=replay_name(reader.session(session)),
            allow_control=False,
            replay_of=hello.session,
            pid=os.getpid(),
        )
        self._outbox = Outbox(_OUTBOX_BYTES)
        self._uplink = Uplink(options.url, options.token, self.hello, self._outbox, self._lack)
        self._thread = threading.Thread(
            target=self._uplink.guarded, args=(self._uplink.run,), name="kvarium-replay", daemon=True
        )
        self._forgotten = False
        self._stopped: str | None = None
        self._records = self._operations = self._steps = 0
        self._time = 0
        self._told_at, self._told = 0.0, (0, 0, 0)
        self._seen = 0.0

    def run(self) -> None:
        """Send it all. Raises :class:`KvariumError` where there is no server, it refuses, or it does not come back."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        self._thread.start()
        try:
            self._wait_for_server()
            began = time.perf_counter()
            self._feed(began)
            self._drain()
            seconds = time.perf_counter() - began
            self._uplink.send(Bye(reason=self._stopped or "the end of what is replayed"))
        finally:
            self._uplink.stop()
            self._thread.join(5.0)
        self._report(seconds)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stopped is not None:
            raise KeyboardInterrupt
        self._stopped = f"the replay was stopped ({signal.Signals(number).name})"

    def _lack(self, first: int) -> None:
        self._forgotten = True

    def _wait_for_server(self) -> None:
        deadline = time.monotonic() + CONNECT_S
        while not self._uplink.connected.wait(_TICK_S) and self._stopped is None:
            self._check()
            if time.monotonic() > deadline:
                why = f" ({self._uplink.trouble})" if self._uplink.trouble else ""
                raise KvariumError(f"no server at {self._options.url}: tried for {CONNECT_S:.0f} s{why}")

    def _check(self) -> None:
        """Raises :class:`KvariumError` when the link is over."""
        uplink = self._uplink
        if uplink.rejected is not None:
            raise KvariumError(f"{self._options.url}: {uplink.rejected}")
        if uplink.failed is not None:
            raise KvariumError(f"the link failed: {uplink.failed}")
        if uplink.connected.is_set():
            self._seen = time.monotonic()
        elif self._seen and time.monotonic() - self._seen > GONE_S:
            raise KvariumError(
                f"{self._options.url}: the server is gone, and did not come back in {GONE_S:.0f} s"
            )
        if self._forgotten:
            raise KvariumError(
                f"{self._options.url}: the server lacks records that it had acknowledged: replay it anew"
            )

    # -- feeding ----------------------------------------------------------------------------------------------------

    def _feed(self, began: float) -> None:
        speed, first_time = self._options.speed, None
        for frame in self._frames:
            at = frame.head.time
            if speed and at is not None:
                first_time = at if first_time is None else first_time
                self._wait(began + (at - first_time) / 1e9 / speed)
            while self._outbox.full and self._stopped is None:
                self._outbox.wait_room(_TICK_S)
                self._tick()
            if self._stopped is not None:
                return
            self._send(frame)

    def _send(self, frame: Frame) -> None:
        record = frame.head.record
        assert record is not None
        self._outbox.append(record, frame.bytes)
        self._records += 1
        self._time = frame.head.time or self._time
        self._operations += frame.head.operations
        self._steps += frame.head.type == "step"
        if self._records % 64 == 0:
            self._tick()

    def _wait(self, until: float) -> None:
        while self._stopped is None:
            left = until - time.perf_counter()
            if left <= 0:
                return
            time.sleep(min(left, _TICK_S))
            self._tick()

    def _tick(self) -> None:
        """Answer what was asked, tell the figures of the last second, and see whether the server is there."""
        self._check()
        try:
            while True:
                command = self._uplink.commands.get_nowait()
                self._uplink.send(Answer(id=command.id, error=REFUSAL))
        except queue.Empty:
            pass
        now = time.monotonic()
        if now - self._told_at >= 1.0:
            self._tell_health(now)

    def _tell_health(self, now: float) -> None:
        figures = self._operations, self._steps, self._uplink.bytes_sent
        rates = (
            [(new - old) / (now - self._told_at) for new, old in zip(figures, self._told, strict=True)]
            if self._told_at
            else [0.0, 0.0, 0.0]
        )
        self._told_at, self._told = now, figures
        self._uplink.send(
            Health(
                time=self._time,
                operations_per_s=rates[0],
                steps_per_s=rates[1],
                bytes_per_s=rates[2],
                unacknowledged_bytes=self._outbox.bytes,
            )
        )

    def _drain(self) -> None:
        """Wait until all is acknowledged, as long as the server gets on."""
        left, deadline = -1, 0.0
        while not self._outbox.wait_empty(_TICK_S):
            self._tick()
            now = time.monotonic()
            if self._outbox.bytes != left:
                left, deadline = self._outbox.bytes, now + GONE_S
            elif now > deadline:
                raise KvariumError(f"{self._options.url}: {left:,} bytes were not acknowledged in time")

    # -- the end ----------------------------------------------------------------------------------------------------

    def _report(self, seconds: float) -> None:
        rate = round(self._operations / max(seconds, 1e-9))
        if self._options.as_json:
            told = {
                "session": self.hello.session,
                "records": self._records,
                "operations": self._operations,
                "seconds": round(seconds, 3),
                "operations_per_s": rate,
                "bytes": self._uplink.bytes_sent,
                "stopped": self._stopped,
            }
            print(json.dumps(told), flush=True)
            return
        print(
            f"replayed {self._records:,} records, {self._operations:,} operations in {seconds:.1f} s ({rate:,} a second)"
            + (f"; {self._stopped}" if self._stopped else ""),
            file=sys.stderr,
            flush=True,
        )
