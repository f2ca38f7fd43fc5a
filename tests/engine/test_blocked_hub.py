"""A hub that is linked and reads nothing: the engine's thread never waits for it, and what is past the bound is a gap.

Nothing is timed: what is counted is how often the engine's thread waits on anything at all.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import Server, ServerConnection, serve

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.workload.mix import Mix
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.link import Link
from kvarium_ledger.messages import Ack, Welcome
from kvarium_ledger.records import VERSION, AnyRecord, Gap, Keyframe, Record
from tests.ledger.greeting import greeting

BLOCKS, SIZE = 512, 16
BOUND = 1 << 20
HELLO = greeting(BLOCKS, SIZE)


class BlockedHub:
    """Welcomes an engine, and reads nothing until ``reads`` is set; then it acknowledges all that comes."""

    def __init__(self) -> None:
        self.reads = threading.Event()
        self.records: list[AnyRecord] = []

    def handle(self, connection: ServerConnection) -> None:
        connection.recv()
        connection.send(codec.seal(Welcome(version=VERSION)))
        self.reads.wait(120)
        for raw in connection:
            assert isinstance(raw, bytes)
            record = codec.open_frame(raw)
            if isinstance(record, Record):
                self.records.append(record)  # type: ignore[arg-type]
                connection.send(codec.seal(Ack(record=record.record)))


@contextmanager
def serving(hub: BlockedHub) -> Iterator[Server]:
    with serve(hub.handle, "127.0.0.1", 0, compression=None, max_size=None, max_queue=1) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            hub.reads.set()
            server.shutdown()
            thread.join(60)


class Waits:
    """How often the present thread has waited: on a condition, an event, a queue's item or a join, or slept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        me = threading.get_ident()
        wait, sleep = threading.Condition.wait, time.sleep

        def counted(condition: threading.Condition, timeout: float | None = None) -> bool:
            self.count += threading.get_ident() == me
            return wait(condition, timeout)

        def slept(seconds: float) -> None:
            self.count += threading.get_ident() == me
            sleep(seconds)

        monkeypatch.setattr(threading.Condition, "wait", counted)
        monkeypatch.setattr(time, "sleep", slept)


def run(engine: Engine, workload: Mix, steps: int) -> None:
    for _ in range(steps):
        workload.feed(engine)
        engine.step()


def make(link: Link) -> tuple[Engine, Mix]:
    config = EngineConfig(BLOCKS, SIZE, SchedulerConfig(2048, 64, 4096))
    engine = Engine(config, NullRunner(), Ledger(link.put))
    return engine, Mix(BLOCKS, SIZE, 64)


def let_go(hub: BlockedHub, waits: Waits) -> None:
    """Read again, some time after the engine's thread began to wait."""
    deadline = time.monotonic() + 60
    while not waits.count and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    hub.reads.set()


def url_of(server: Server) -> str:
    return f"ws://127.0.0.1:{server.socket.getsockname()[1]}/api/engine"


def until_stuck(link: Link, engine: Engine, workload: Mix) -> None:
    """Take steps until the bound is reached and the link's sender stands still: not just for as long as it got no CPU."""
    still = 0
    for _ in range(200):
        sent = link.bytes_sent
        run(engine, workload, 50)
        deadline = time.monotonic() + 60
        while link.pending_records and time.monotonic() < deadline:
            time.sleep(0.005)
        still = still + 1 if link.gaps and link.bytes_sent == sent else 0
        if still == 5:
            return
        time.sleep(0.1 * still)
    raise AssertionError("the sender never stood still")


def test_the_engine_never_waits_for_a_blocked_hub_and_what_is_past_the_bound_is_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub = BlockedHub()
    with serving(hub) as server:
        link = Link(url_of(server), "token", HELLO, bound_bytes=BOUND)
        link.start()
        assert link.connected.wait(60)
        engine, workload = make(link)
        until_stuck(link, engine, workload)
        sent, step = link.bytes_sent, engine.steps
        waits = Waits(monkeypatch)
        run(engine, workload, 300)
        assert waits.count == 0, "the engine's thread waited"
        assert engine.steps == step + 300
        assert link.bytes_sent == sent, "the hub was not blocked"
        assert link.gaps == 1 and link.unacknowledged_bytes < BOUND + (1 << 19)
        monkeypatch.undo()
        # It reads again: there is room, a keyframe is wanted, and what follows it is all there.
        hub.reads.set()
        assert link.keyframe_wanted.wait(60)
        engine.keyframe(forget=True)
        run(engine, workload, 20)
        assert link.close(timeout=60)
    (gap,) = [record for record in hub.records if isinstance(record, Gap)]
    assert isinstance(hub.records[hub.records.index(gap) + 1], Keyframe)
    fold = Fold(BLOCKS, SIZE)
    for record in hub.records:
        fold.apply(record)
    assert fold.verified and fold.violation is None and fold.op == engine.ledger.op


def test_a_lossless_link_waits_for_it_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other test counts does happen where it is wanted."""
    monkeypatch.setattr("kvarium_ledger.link.LOSSLESS_PENDING_OPERATIONS", 2000)
    hub = BlockedHub()
    with serving(hub) as server:
        link = Link(url_of(server), "token", HELLO, lossless=True, bound_bytes=BOUND)
        link.start()
        assert link.connected.wait(60)
        engine, workload = make(link)
        waits = Waits(monkeypatch)
        # Beyond what the bound and the sockets hold, the engine's thread is let go by the reader alone.
        letting_go = threading.Thread(target=let_go, args=(hub, waits))
        letting_go.start()
        run(engine, workload, 1500)
        assert waits.count > 0, "the engine's thread did not wait"
        letting_go.join(60)
        assert link.close(timeout=60) and link.gaps == 0
    assert [record.record for record in hub.records] == list(range(len(hub.records)))
