"""Viewers that ask for less: no text, a lower rate. What is recorded, and what others get, is the same."""

import time
from itertools import pairwise

import pytest

from kvarium.api import live
from kvarium.viewer import Viewer
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.messages import Bye, Health, Skip, Status
from kvarium_ledger.records import AnyRecord, Keyframe, Note, Record, Text
from kvarium_ledger.without_text import text_between
from tests.backend.hand_engine import BLOCKS, SIZE, HandEngine, hand_frames, hello, record_of
from tests.backend.running_server import RunningServer, Watch, wait_for


def records_of(watch: Watch, through: int) -> list[AnyRecord]:
    """The records that come, those of before too, up to ``through``."""
    watch.until(lambda found: getattr(found, "record", -1) == through)
    return [found for found in map(codec.open_frame, watch.frames) if isinstance(found, Record)]  # type: ignore[misc]


def without_text(frames: list[bytes]) -> list[bytes]:
    return [frame for frame in frames if codec.peek(frame)[0] != "text"]


def note(record: int, size: int = 1) -> bytes:
    return codec.seal(Note(record=record, time=record, text="x" * size))


def test_a_viewer_without_text_gets_all_else_as_it_is_and_folds_it(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    session, plain = engine.hello.session, without_text(frames)
    assert 0 < len(frames) - len(plain) < len(frames) // 2 + 1
    with (
        server.watch(session, wish="text=none") as less,
        server.watch(session, wish="text=full") as all_of_it,
    ):
        engine.send(frames)
        found = records_of(less, record_of(plain[-1]))
        assert [frame for frame in less.frames if codec.peek(frame)[1] is not None] == plain
        records_of(all_of_it, record_of(frames[-1]))
        assert [frame for frame in all_of_it.frames if codec.peek(frame)[1] is not None] == frames
    fold, last = Fold(BLOCKS, SIZE), None
    for record in found:
        text = text_between(last, record)
        assert [*(fold.apply(text) if text is not None else []), *fold.apply(record)] == []
        last = record
    assert fold.verified
    engine.wait_acked(record_of(frames[-1]))
    assert server.bytes(f"/sessions/{session}/frames", after=-1, limit_bytes=1 << 26) == frames


def test_a_viewer_without_text_begins_at_a_keyframe_and_comes_back_by_record(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    session, plain = engine.hello.session, without_text(frames)
    texts = [record_of(frame) for frame in frames if codec.peek(frame)[0] == "text"]
    behind_a_step = texts[len(texts) // 2] - 1
    engine.send(frames[: behind_a_step + 1])
    server.wait_indexed(session, behind_a_step)
    with server.watch(session, wish="text=none") as joins:
        joins.until(lambda found: isinstance(found, Keyframe))
        with server.watch(session, after=behind_a_step, wish="text=none") as returns:
            engine.send(frames[behind_a_step + 1 :])
            joined = records_of(joins, record_of(plain[-1]))
            returned = records_of(returns, record_of(plain[-1]))
    assert isinstance(joined[0], Keyframe) and joined[0].record == behind_a_step
    assert (
        joined[1:]
        == returned
        == [codec.open_frame(each) for each in plain if record_of(each) > behind_a_step]
    )
    fold, last = Fold(BLOCKS, SIZE), joined[0]
    fold.load(joined[0])
    # The keyframe bears the number of a step, whose text is not there.
    assert text_between(joined[0], joined[1]) == Text(record=behind_a_step + 1, step=joined[0].step)
    for record in joined[1:]:
        text = text_between(last, record)
        assert [*(fold.apply(text) if text is not None else []), *fold.apply(record)] == []
        last = record


def test_any_other_missing_record_is_a_fault_to_who_gets_no_text(frames: list[bytes]) -> None:
    plain = [codec.open_frame(frame) for frame in without_text(frames)]
    for missing in range(1, 12):
        fold, last = Fold(BLOCKS, SIZE), None
        for record in plain[:missing] + plain[missing + 1 :]:
            assert isinstance(record, Record)
            text = text_between(last, record)  # type: ignore[arg-type]
            if text is not None:
                fold.apply(text)
            fold.apply(record)  # type: ignore[arg-type]
            last = record  # type: ignore[assignment]
        assert fold.violation is not None and fold.violation.kind == "order", missing


def test_a_viewer_with_a_rate_gets_its_records_in_bursts(
    server: RunningServer, engine: HandEngine, frames: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    bursts: list[float] = []
    burst = Viewer._burst

    async def noted(viewer: Viewer) -> None:
        bursts.append(time.monotonic())
        await burst(viewer)

    monkeypatch.setattr(Viewer, "_burst", noted)
    engine.send(frames[:20])
    last = record_of(frames[19])
    server.wait_indexed(engine.hello.session, last)
    with server.watch(engine.hello.session, wish="rate=5") as watch:
        watch.until(lambda found: isinstance(found, Keyframe))
        for number in range(last + 1, last + 31):
            engine.send([note(number)])
            time.sleep(0.02)
        for number in range(last + 1, last + 31):
            assert getattr(watch.until(lambda found: isinstance(found, Record))[-1], "record", None) == number
        # Four or so; a busy machine takes longer over the notes, and then there are more of them.
        assert all(later - sooner > 0.19 for sooner, later in pairwise(bursts)), bursts
        assert not any(isinstance(codec.open_frame(frame), Skip) for frame in watch.frames)


def test_a_keyframe_stands_for_frames_that_are_more_bytes_and_no_one_else_is_skipped(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    session = engine.hello.session
    engine.send(frames[:20])
    last = record_of(frames[19])
    server.wait_indexed(session, last)
    with server.watch(session, wish="rate=2&text=none") as seldom, server.watch(session) as always:
        for watch in (seldom, always):
            watch.until(lambda found: isinstance(found, Keyframe))
        engine.send([note(last + 1 + i, 4096) for i in range(40)])
        got = seldom.until(lambda found: getattr(found, "record", -1) == last + 40)
        skip = next(found for found in got if isinstance(found, Skip))
        keyframe = got[got.index(skip) + 1]
        assert isinstance(keyframe, Keyframe) and keyframe.record == skip.last > skip.first
        seen = [found.record for found in got if isinstance(found, Note)]
        assert seen[-1:] in ([], [last + 40])
        assert len(seen) + skip.last - skip.first + 1 == 40
        fold = Fold(BLOCKS, SIZE)
        fold.load(keyframe)
        assert fold.violation is None
        got = always.until(lambda found: getattr(found, "record", -1) == last + 40)
        assert not any(isinstance(found, Skip) for found in got)
        told = seldom.until(lambda found: isinstance(found, Status) and found.skips > 0)[-1]
        assert isinstance(told, Status) and (told.skips, told.viewers_skips) == (1, 1)
        other = always.until(lambda found: isinstance(found, Status) and found.viewers_skips > 0)[-1]
        assert isinstance(other, Status) and (other.skips, other.viewers_skips) == (0, 1)


def test_who_comes_seldom_is_not_waited_for_at_the_end(
    server: RunningServer, engine: HandEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SLOWEST", 0.001)
    frames = hand_frames(5)
    engine.send(frames)
    with server.watch(engine.hello.session, wish="rate=0.01") as watch:
        watch.until(lambda found: isinstance(found, Keyframe))
        engine.send([note(record_of(frames[-1]) + 1)])
        began = time.monotonic()
        engine.bye("done")
        assert watch.closed() == (1000, "the session has ended")
        assert time.monotonic() - began < 60
        *before, bye = [codec.open_frame(frame) for frame in watch.frames]
        assert isinstance(bye, Bye)
        # The note itself, or a state that has it, where that is less than what was left to tell.
        assert max(getattr(found, "record", -1) for found in before) == record_of(frames[-1]) + 1


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ("text=some", "text='some' is neither full nor none"),
        ("rate=0", "rate='0' is not a number from 0.1 to 60 (bursts a second)"),
        ("rate=61", "rate='61' is not a number from 0.1 to 60 (bursts a second)"),
        ("rate=nan", "rate='nan' is not a number from 0.1 to 60 (bursts a second)"),
        ("rate=1e1&text=none", "rate='1e1' is not a number from 0.1 to 60 (bursts a second)"),
        ("after=x", "after='x' is not the number of a record"),
    ],
)
def test_a_wish_that_can_not_be_met_is_refused_with_the_reason(
    server: RunningServer, engine: HandEngine, wish: str, reason: str
) -> None:
    with server.watch(engine.hello.session, wish=wish) as watch:
        assert watch.closed() == (4400, reason)


def test_status_tells_each_viewer_how_far_behind_the_engine_it_was_sent(server: RunningServer) -> None:
    frames = hand_frames(3)
    with server.engine(hello(utc_us=time.time_ns() // 1000 - 60_000_000)) as engine:
        engine.send(frames)
        server.wait_indexed(engine.hello.session, record_of(frames[-1]))
        with server.watch(engine.hello.session) as watch:
            first = watch.until(lambda found: isinstance(found, Status))[-1]
            assert isinstance(first, Status) and first.lag_ms is None
            watch.until(lambda found: isinstance(found, Keyframe))
            # Sealed 1.5 s ago, by this machine's clock.
            sealed = time.time_ns() - engine.hello.utc_us * 1000 - 1_500_000_000
            engine.send([codec.seal(Note(record=record_of(frames[-1]) + 1, time=sealed, text="late"))])
            told = watch.until(lambda found: isinstance(found, Status) and found.lag_ms is not None, 20)[-1]
            assert isinstance(told, Status) and told.lag_ms is not None
            assert 1500 <= told.lag_ms < 4000


def test_a_script_asks_how_a_live_session_goes(server: RunningServer, engine: HandEngine) -> None:
    session = engine.hello.session
    assert server.get(f"/sessions/{session}/health")["health"] is None
    frames = hand_frames(5)
    engine.send([*frames, codec.seal(Health(time=7, operations_per_s=12.5, queue_records=3))])
    engine.wait_acked(record_of(frames[-1]))
    with server.watch(session, wish="text=none&rate=4") as watch:
        watch.until(lambda found: isinstance(found, Keyframe))
        wait_for(lambda: server.get(f"/sessions/{session}/health")["viewers"][0]["record"] >= 0)
        told = server.get(f"/sessions/{session}/health")
    assert (told["health"]["operations_per_s"], told["health"]["queue_records"]) == (12.5, 3)
    # What is at its default is told too.
    assert (told["health"]["gaps"], told["health"]["held"], told["status"]["viewers_skips"]) == (0, False, 0)
    assert (told["status"]["linked"], told["status"]["last_record"]) == (True, record_of(frames[-1]))
    (viewer,) = told["viewers"]
    assert (viewer["text"], viewer["rate"], viewer["skips"], viewer["lag_ms"]) == (False, 4.0, 0, None)
    engine.bye()
    wait_for(lambda: session not in server.hub.live)
    gone = server.http.get(f"/api/sessions/{session}/health")
    assert (gone.status_code, gone.json()["detail"]) == (
        409,
        f"session {session} is recorded: only a live one has a health",
    )
    assert server.http.get("/api/sessions/nothing/health").status_code == 404
