"""The link: nothing is lost over a break, what is past the bound is a gap, a lossless one waits."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import Server, ServerConnection, serve

from kvarium_ledger import codec
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import Ledger, Sealed
from kvarium_ledger.link import Link
from kvarium_ledger.messages import Ack, Answer, Bye, Command, Hello, Rejected, Welcome
from kvarium_ledger.records import VERSION, AnyRecord, Gap, Keyframe, Record
from tests.ledger.greeting import greeting
from tests.ledger.hand_pool import HandPool
from tests.ledger.test_fold import BLOCKS, SIZE, first_keyframe

HELLO = greeting(BLOCKS, SIZE)


class Backend:
    """A backend of a few lines: commits in memory, acknowledges, can be told to hang up or to stop acknowledging."""

    def __init__(self) -> None:
        self.records: list[AnyRecord] = []
        self.others: list[object] = []
        self.acknowledging = True
        self.hang_up_after: int | None = None
        self.connections: list[ServerConnection] = []
        self.reject: str | None = None
        self.changed = threading.Condition()

    def handle(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        hello = codec.open_frame(_bytes(connection.recv()))
        assert isinstance(hello, Hello)
        if self.reject:
            connection.send(codec.seal(Rejected(reason=self.reject)))
            return
        last = self.records[-1].record if self.records else None
        connection.send(codec.seal(Welcome(version=VERSION, ack=last)))
        for raw in connection:
            value = codec.open_frame(_bytes(raw))
            with self.changed:
                if not isinstance(value, Record):
                    self.others.append(value)
                elif not self.records or value.record > self.records[-1].record:
                    self.records.append(value)  # type: ignore[arg-type]
                    if self.acknowledging:
                        connection.send(codec.seal(Ack(record=value.record)))
                self.changed.notify_all()
            if self.hang_up_after is not None and len(self.records) >= self.hang_up_after:
                self.hang_up_after = None
                connection.socket.close()
                return

    def wait(self, condition: object, timeout: float = 60.0) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, timeout), "the backend waited in vain"  # type: ignore[arg-type]


def _bytes(raw: str | bytes) -> bytes:
    assert isinstance(raw, bytes)
    return raw


@contextmanager
def serving(backend: Backend, port: int = 0) -> Iterator[Server]:
    with serve(backend.handle, "127.0.0.1", port, compression=None, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            for connection in backend.connections:
                connection.close()
            thread.join(60)


def url_of(server: Server) -> str:
    return f"ws://127.0.0.1:{server.socket.getsockname()[1]}/api/engine"


@contextmanager
def linked(link: Link) -> Iterator[HandPool]:
    link.start()
    pool = HandPool(Ledger(link.put), random.Random(4), BLOCKS, SIZE)
    pool.ledger.keyframe(first_keyframe())
    try:
        yield pool
    finally:
        link.close(timeout=60)


def check(records: list[AnyRecord]) -> Fold:
    fold = Fold(BLOCKS, SIZE)
    for record in records:
        assert fold.apply(record) == []
    return fold


def test_all_that_is_written_arrives_and_is_verified() -> None:
    backend = Backend()
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO)
        with linked(link) as pool:
            for _ in range(20):
                pool.step(10)
        assert link.unacknowledged_bytes == 0
        backend.wait(lambda: any(isinstance(other, Bye) for other in backend.others))
        assert check(backend.records).step == 19


def test_a_broken_link_comes_back_and_sends_again_what_was_not_acknowledged() -> None:
    backend = Backend()
    backend.hang_up_after = 7
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO)
        with linked(link) as pool:
            for _ in range(30):
                pool.step(10)
                time.sleep(0.005)
    assert len(backend.connections) == 2
    assert check(backend.records).step == 29
    assert [record.record for record in backend.records] == list(range(len(backend.records)))


def test_an_engine_may_begin_before_its_backend_is_there() -> None:
    backend = Backend()
    with serving(backend) as server:
        port = server.socket.getsockname()[1]
    link = Link(f"ws://127.0.0.1:{port}/api/engine", "t", HELLO)
    with linked(link) as pool:
        for _ in range(10):
            pool.step(10)
        assert not link.connected.is_set()
        with serving(backend, port):
            assert link.connected.wait(60)
            assert link.close(timeout=60)
    assert check(backend.records).step == 9


class Truth:
    """A sink before the link's: folds all that the engine sealed, so that a test can make the engine's keyframe."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.encoder = Encoder(BLOCKS)
        self.fold = Fold(BLOCKS, SIZE)

    def put(self, sealed: Sealed) -> None:
        for record in self.encoder.records(sealed):
            assert self.fold.apply(record) == []
        self.link.put(sealed)


def begin(link: Link) -> tuple[HandPool, Truth]:
    """Start a link and a session on it, the truth of which is known."""
    link.start()
    truth = Truth(link)
    pool = HandPool(Ledger(truth.put), random.Random(4), BLOCKS, SIZE)
    pool.ledger.keyframe(first_keyframe())
    return pool, truth


def test_past_the_bound_records_are_lost_as_a_gap_and_a_keyframe_follows() -> None:
    backend = Backend()
    backend.acknowledging = False
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO, bound_bytes=40_000)
        pool, truth = begin(link)
        for _ in range(200):
            pool.step(10)
        while link.pending_records or link.gaps == 0:
            time.sleep(0.01)
        kept = link.unacknowledged_bytes
        backend.wait(lambda: sum(len(codec.seal(record)) for record in backend.records) == kept)
        assert 40_000 <= link.unacknowledged_bytes < 60_000
        assert not link.keyframe_wanted.is_set(), "no keyframe is asked for while there is no room for it"
        last = backend.records[-1].record
        backend.acknowledging = True
        backend.connections[0].send(codec.seal(Ack(record=last)))
        assert link.keyframe_wanted.wait(60)
        pool.ledger.keyframe(truth.fold.keyframe(0))
        for _ in range(5):
            pool.step(10)
            backend.wait(lambda: getattr(backend.records[-1], "step", None) == truth.fold.step)
        assert link.close(timeout=60)
    (gap,) = [record for record in backend.records if isinstance(record, Gap)]
    assert (gap.first, gap.record) == (last + 1, gap.last + 1)
    assert isinstance(backend.records[backend.records.index(gap) + 1], Keyframe)
    assert check(backend.records).lanes.digest() == truth.fold.lanes.digest()
    assert link.gaps == 1


def test_what_is_lost_up_to_the_end_is_told_as_a_gap_too() -> None:
    backend = Backend()
    backend.acknowledging = False
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO, bound_bytes=4_000)
        pool, _ = begin(link)
        for _ in range(60):
            pool.step(10)
        done: list[bool] = []
        closing = threading.Thread(target=lambda: done.append(link.close(timeout=90)))
        closing.start()
        backend.wait(lambda: isinstance(backend.records[-1], Gap))
        backend.connections[0].send(codec.seal(Ack(record=backend.records[-1].record)))
        closing.join(60)
        assert done == [True]
    assert check(backend.records).record == backend.records[-1].record > 60


def test_a_backend_that_lost_the_beginning_gets_a_gap_from_zero() -> None:
    first, second = Backend(), Backend()
    with serving(first) as server:
        port = server.socket.getsockname()[1]
        link = Link(url_of(server), "t", HELLO)
        pool, truth = begin(link)
        for _ in range(5):
            pool.step(10)
        first.wait(lambda: first.records and first.records[-1].record >= truth.fold.record)
        for _ in range(6000):
            if not link.unacknowledged_bytes:
                break
            time.sleep(0.01)
    with serving(second, port):
        assert link.keyframe_wanted.wait(60)
        pool.ledger.keyframe(truth.fold.keyframe(0))
        pool.step(10)
        assert link.close(timeout=60)
    assert isinstance(second.records[0], Gap)
    assert second.records[0].first == 0
    assert check(second.records).lanes.digest() == truth.fold.lanes.digest()


def test_a_lossless_link_waits_and_loses_nothing() -> None:
    backend = Backend()
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO, lossless=True, bound_bytes=4_000)
        with linked(link) as pool:
            for _ in range(200):
                pool.step(10)
            assert link.close(timeout=60)
    assert link.gaps == 0
    assert check(backend.records).step == 199


def test_commands_arrive_and_answers_go_back() -> None:
    backend = Backend()
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO)
        with linked(link):
            assert link.connected.wait(60)
            backend.connections[0].send(codec.seal(Command(id="1", name="hold")))
            command = link.commands.get(timeout=60)
            assert command.name == "hold"
            link.answer(Answer(id=command.id))
            backend.wait(lambda: Answer(id="1") in backend.others)


def test_a_rejected_engine_is_told_why_and_stops_trying() -> None:
    backend = Backend()
    backend.reject = "version 9 is newer than 1"
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO)
        link.start()
        for _ in range(1200):
            if link.rejected:
                break
            time.sleep(0.05)
        assert link.rejected == "version 9 is newer than 1"
        link.close(timeout=0.1)
    assert len(backend.connections) == 1


def test_a_wrong_token_is_told() -> None:
    def refuse(connection: ServerConnection, request: object) -> object:
        return connection.respond(401, "no")

    with serve(lambda c: None, "127.0.0.1", 0, process_request=refuse) as server:  # type: ignore[arg-type]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        link = Link(url_of(server), "bad", HELLO)
        link.start()
        for _ in range(1200):
            if link.rejected:
                break
            time.sleep(0.05)
        server.shutdown()
        thread.join(60)
    assert link.rejected is not None
    assert "token" in link.rejected
    link.close(timeout=0.1)


@pytest.mark.parametrize(
    ("where", "thread"),
    [
        ("kvarium_ledger.link.Encoder.encode", "kvarium-encoder"),
        ("kvarium_ledger.uplink.connect", "kvarium-link"),
        ("kvarium_ledger.link.Outbox.acknowledge", "kvarium-link-reader"),
    ],
)
@pytest.mark.parametrize("lossless", [False, True])
def test_a_thread_that_dies_of_a_fault_is_told_and_nobody_waits_for_it(
    where: str, thread: str, lossless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise OverflowError("int\ntoo big")

    backend = Backend()
    with serving(backend) as server:
        link = Link(url_of(server), "t", HELLO, lossless=lossless, bound_bytes=4_000)
        monkeypatch.setattr(where, broken)
        with linked(link) as pool:
            for _ in range(100):
                pool.step(10)
            for _ in range(1200):
                if link.failed:
                    break
                time.sleep(0.05)
            assert link.failed == f"{thread}: OverflowError: int too big"
            began = time.monotonic()
            assert not link.close(timeout=90)
            assert time.monotonic() - began < 60


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("kvarium-"):
            thread.join(60)
            assert not thread.is_alive(), thread.name
