"""Viewers: many at once, and a stuck one that costs bounded memory and slows nobody."""

from kvarium.viewer import OUTBOX_BYTES
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.messages import Skip
from kvarium_ledger.records import AnyRecord, Keyframe, Note, Record
from tests.backend.hand_engine import BLOCKS, SIZE, HandEngine, hand_frames, record_of
from tests.backend.running_server import RunningServer, wait_for


def notes(first: int, count: int, size: int) -> list[bytes]:
    """Large records that change no state."""
    text = "x" * size
    return [codec.seal(Note(record=first + i, time=i, text=text)) for i in range(count)]


def test_a_stuck_viewer_is_moved_on_and_slows_nobody(server: RunningServer, engine: HandEngine) -> None:
    frames = hand_frames(20)
    engine.send(frames)
    engine.wait_acked(record_of(frames[-1]))
    session = engine.hello.session
    # The stuck one reads hello, status and a keyframe, and then nothing: its buffers are small.
    with server.watch(session, max_queue=1) as stuck, server.watch(session) as lively:
        for watch in (stuck, lively):
            watch.until(lambda found: isinstance(found, Keyframe))
        first = record_of(frames[-1]) + 1
        big = notes(first, 60, 1 << 20)
        # The stuck one reads on only when the lively one has all of it.
        for frame in big:
            engine.send([frame])
            wanted = record_of(frame)
            lively.until(lambda found, wanted=wanted: getattr(found, "record", None) == wanted)  # type: ignore[misc]
        got = stuck.until(lambda found: getattr(found, "record", None) == first + 59)
        skips = [found for found in got if isinstance(found, Skip)]
        assert skips, "60 MiB fit into no outbox"
        seen = [found.record for found in got if isinstance(found, Note)]
        missed = [number for skip in skips for number in range(skip.first, skip.last + 1)]
        assert sorted(seen + missed) == list(range(first, first + 60))
        # What follows a skip is a keyframe from which folding goes on.
        place = got.index(skips[0])
        keyframe = got[place + 1]
        assert isinstance(keyframe, Keyframe)
        assert keyframe.record == skips[0].last
        fold = Fold(BLOCKS, SIZE)
        fold.load(keyframe)
        assert fold.violation is None


def test_a_stuck_viewer_costs_bounded_memory(server: RunningServer, engine: HandEngine) -> None:
    frames = hand_frames(5)
    engine.send(frames)
    engine.wait_acked(record_of(frames[-1]))
    session = engine.hello.session
    live = server.hub.live[session]
    with server.watch(session, max_queue=1) as stuck:
        stuck.until(lambda found: isinstance(found, Keyframe))
        first = record_of(frames[-1]) + 1
        engine.send(notes(first, 80, 1 << 20))
        engine.wait_acked(first + 79)
        held = sum(len(found.frame) for found in live.ring._frames)
        # The ring is shared by all; a viewer adds what its connection's buffer holds.
        assert held <= live.ring.capacity + (1 << 20)
        assert live.ring.capacity > OUTBOX_BYTES


def test_many_viewers_see_the_same(server: RunningServer, engine: HandEngine, size: str) -> None:
    count = 200 if size == "full" else 60
    frames = hand_frames(30)
    engine.send(frames[:5])
    session = engine.hello.session
    watches = [server.watch(session) for _ in range(count)]
    try:
        for watch in watches:
            watch.until(lambda found: isinstance(found, Keyframe))
        wait_for(lambda: server.hub.live[session].viewers == count)
        engine.send(frames[5:])
        for watch in watches:
            watch.until(lambda found: getattr(found, "record", None) == record_of(frames[-1]))
        records: list[list[AnyRecord]] = [
            [found for found in map(codec.open_frame, watch.frames) if isinstance(found, Record)]  # type: ignore[misc]
            for watch in watches
        ]
        assert all(found[-1] == records[0][-1] for found in records)
    finally:
        for watch in watches:
            watch.close()
    wait_for(lambda: server.hub.live[session].viewers == 0)


def test_a_viewer_of_a_session_without_records_waits_for_the_first(
    server: RunningServer, engine: HandEngine
) -> None:
    frames = hand_frames(3)
    with server.watch(engine.hello.session) as watch:
        watch.next()
        watch.next()
        engine.send(frames)
        watch.until(lambda found: getattr(found, "record", None) == record_of(frames[-1]))


def test_a_session_that_nobody_knows_is_closed_with_4404(server: RunningServer) -> None:
    with server.watch("00000000-0000-0000-0000-000000000000") as watch:
        assert watch.close_code() == 4404


def test_what_a_viewer_says_is_not_heard_and_what_is_long_ends_it(
    server: RunningServer, engine: HandEngine
) -> None:
    engine.send(hand_frames(20)[:10])
    engine.wait_acked(9)
    with server.watch(engine.hello.session) as watch:
        watch.next()
        for said in (b"", b"\xc1garbage", "text", "\N{SNOWMAN}" * 1000, bytes(64 << 10)):
            watch.connection.send(said)
        watch.next()
        watch.connection.send(bytes((64 << 10) + 1))
        assert watch.close_code() == 1009
    # Nobody else notices.
    engine.send(hand_frames(20)[10:])
    engine.wait_acked(19)
    assert server.get("/health")["ok"] is True
