"""From an engine to disk and viewers: bytes unchanged, acknowledged when committed, resent after a break."""

import httpx2
import msgspec
import pytest
from websockets.exceptions import InvalidStatus

from kvarium.verify import verify
from kvarium_ledger import codec
from kvarium_ledger.decisions import Submitted
from kvarium_ledger.fold import Fold
from kvarium_ledger.messages import Bye, Hello, Rejected, Status, Welcome
from kvarium_ledger.records import Gap, Keyframe, Operations, Record, Step
from tests.backend.hand_engine import BLOCKS, SIZE, HandEngine, decoded, hand_frames, hello, record_of
from tests.backend.running_server import RunningServer, wait_for


def test_the_bytes_that_the_engine_wrote_are_recorded_and_sent_to_viewers(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    session = engine.hello.session
    with server.watch(session) as watch:
        engine.send(frames)
        watch.until(lambda found: isinstance(found, Record) and found.record == record_of(frames[-1]))
        sent = [frame for frame in watch.frames if isinstance(codec.open_frame(frame), Record)]
    assert sent == frames
    engine.wait_acked(record_of(frames[-1]))
    assert server.bytes(f"/sessions/{session}/frames", after=-1, limit_bytes=1 << 26) == frames
    with server.database.engine.connect() as _:
        stored = [frame.bytes for frame in server.hub.reader.frames(server.hub.number(session))]
    assert stored == frames


def test_nothing_is_acknowledged_before_it_is_committed(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    number = server.hub.number(engine.hello.session)
    for i in range(0, 60, 7):
        engine.send(frames[i : i + 7])
        engine.wait_acked(record_of(frames[i]))
        acked = engine.acked
        stored = [frame.head.record for frame in server.hub.reader.frames(number)]
        assert acked in stored


def test_a_viewer_gets_hello_status_and_a_keyframe_first(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames[:100])
    engine.wait_acked(record_of(frames[99]))
    with server.watch(engine.hello.session) as watch:
        assert watch.next() == engine.hello
        status = watch.next()
        assert isinstance(status, Status)
        assert status.linked
        assert status.state == "live"
        found = watch.until(lambda found: isinstance(found, Keyframe))[-1]
        assert isinstance(found, Keyframe)
        engine.send(frames[100:])
        fold = Fold(BLOCKS, SIZE)
        fold.load(found)
        for message in watch.until(
            lambda found: isinstance(found, Record) and found.record == record_of(frames[-1])
        ):
            if isinstance(message, Record):
                assert fold.apply(message) == []  # type: ignore[arg-type]
        assert fold.verified


def test_a_viewer_that_comes_back_goes_on_where_it_was(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames)
    engine.wait_acked(record_of(frames[-1]))
    with server.watch(engine.hello.session, after=50) as watch:
        watch.until(lambda found: isinstance(found, Record) and found.record == record_of(frames[-1]))
        assert [frame for frame in watch.frames if isinstance(codec.open_frame(frame), Record)] == frames[51:]


def test_status_comes_each_second_and_tells_how_far_it_is(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames)
    last = record_of(frames[-1])
    with server.watch(engine.hello.session) as watch:

        def complete(found: object) -> bool:
            return isinstance(found, Status) and (found.committed, found.fold_record) == (last, last)

        status = watch.until(complete)[-1]
        assert isinstance(status, Status)
        assert status.viewers == 1
        assert status.violation is None
        assert status.recording == str(server.path)
        (row,) = server.get("/sessions")["sessions"]
        assert status.recording_bytes == row["stored_bytes"] > 0


def test_after_a_break_the_engine_sends_again_and_nothing_is_doubled(
    server: RunningServer, frames: list[bytes]
) -> None:
    greeting = hello()
    first = server.engine(greeting)
    first.send(frames[:80])
    first.wait_acked(20)
    first.break_off()
    wait_for(lambda: not server.get(f"/sessions/{greeting.session}")["linked"])
    with server.engine(greeting) as second:
        assert isinstance(second.welcome, Welcome)
        assert second.welcome.ack is not None
        assert second.welcome.ack >= 20
        # An engine resends from the first that is not acknowledged, and this one from well before that.
        second.send(frames[10:])
        second.wait_acked(record_of(frames[-1]))
        assert server.bytes(f"/sessions/{greeting.session}/frames", after=-1, limit_bytes=1 << 26) == frames
        row = server.get(f"/sessions/{greeting.session}")
        assert (row["state"], row["linked"], row["records"]) == ("live", True, len(frames))


def test_a_new_connection_of_the_same_engine_takes_the_place_of_the_old(
    server: RunningServer, frames: list[bytes]
) -> None:
    greeting = hello()
    with server.engine(greeting) as first:
        first.send(frames[:10])
        first.wait_acked(5)
        with server.engine(greeting) as second:
            second.send(frames[first.acked + 1 :])
            second.wait_acked(record_of(frames[-1]))


def test_goodbye_ends_the_session_and_its_viewers(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    session = engine.hello.session
    with server.watch(session) as watch:
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        engine.bye("all done")
        assert watch.close_code() == 1000
        assert codec.open_frame(watch.frames[-1]) == Bye(reason="all done")
    wait_for(lambda: session not in server.hub.live)
    row = server.get(f"/sessions/{session}")
    assert (row["state"], row["reason"], row["linked"]) == ("ended", "all done", False)
    with server.watch(session) as late:
        assert late.close_code() == 4404


def test_an_engine_that_does_not_come_back_is_interrupted_and_live_again_when_it_does(
    db: object, server: RunningServer, frames: list[bytes]
) -> None:
    server.hub._grace_seconds = 0.1
    greeting = hello()
    first = server.engine(greeting)
    first.send(frames[:50])
    first.wait_acked(record_of(frames[49]))
    first.break_off()
    wait_for(lambda: server.get(f"/sessions/{greeting.session}")["state"] == "interrupted")
    with server.engine(greeting) as second:
        assert isinstance(second.welcome, Welcome)
        assert second.welcome.ack == record_of(frames[49])
        second.send(frames[50:])
        second.wait_acked(record_of(frames[-1]))
        server.wait_indexed(greeting.session, record_of(frames[-1]))
        row = server.get(f"/sessions/{greeting.session}")
        assert (row["state"], row["violations"]) == ("live", 0)


def test_a_jump_without_a_gap_is_refused_and_marked(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames[:10] + frames[12:20])
    engine.wait(lambda: engine.rejected is not None)
    assert engine.rejected is not None
    assert "record 12 follows record 9" in engine.rejected
    row = server.get(f"/sessions/{engine.hello.session}")
    assert row["violations"] == 1
    assert "record 12 follows record 9" in row["violation"]
    assert row["last_record"] == 9


def test_a_damaged_frame_is_refused_and_marked(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    damaged = bytearray(frames[5])
    damaged[20] ^= 1
    engine.send([*frames[:5], bytes(damaged)])
    engine.wait(lambda: engine.rejected is not None)
    assert engine.rejected is not None
    assert "checksum" in engine.rejected
    assert server.get(f"/sessions/{engine.hello.session}")["violations"] == 1


def test_a_gap_is_recorded_and_the_mirror_goes_on_from_the_keyframe_after_it(
    server: RunningServer, engine: HandEngine
) -> None:
    frames = hand_frames(120)
    fold = Fold(BLOCKS, SIZE)
    for frame in frames[:101]:
        fold.apply(decoded(frame))
    # Records 50 to 98 are lost: number 99 tells it and number 100 is the state as it is then.
    gap = codec.seal(Gap(record=99, time=7, first=50, last=98, reason="a test"))
    keyframe = fold.keyframe(1)
    assert keyframe.record == 100
    sent = [*frames[:50], gap, codec.seal(keyframe), *frames[101:]]
    engine.send(sent)
    engine.wait_acked(record_of(frames[-1]))
    session = engine.hello.session
    server.wait_indexed(session, record_of(frames[-1]))
    row = server.get(f"/sessions/{session}")
    assert (row["gaps"], row["violations"]) == (1, 0)
    landmarks = server.get(f"/sessions/{session}/landmarks")["landmarks"]
    assert [(mark["record"], mark["count"]) for mark in landmarks if mark["kind"] == "gap"] == [(99, 49)]
    findings = verify(server.hub.reader, server.hub.reader.find(session))
    assert (findings.verdict, findings.gaps, findings.violations) == ("INCOMPLETE", 1, 0)
    assert not findings.good
    assert findings.messages == ["gap at record 99: records 50 to 98 are lost, a test"]
    # Behind the gap a seek begins from its keyframe.
    found = server.bytes(f"/sessions/{session}/seek", record=105, ahead_bytes=0)
    assert record_of(found[0]) == 100


@pytest.mark.parametrize("token", ["", "wrong"])
def test_an_engine_without_the_token_is_refused(
    server: RunningServer, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        server.engine(token=token)
    assert refused.value.response.status_code == 401
    # It was answered, which is no fault of the server's.
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (hello(version=99), "newer kvarium"),
        (hello(num_blocks=0), "a pool of 0 blocks"),
        (hello(num_blocks=1 << 40), "a pool of 1099511627776 blocks"),
        (hello("../../etc/passwd"), "is a UUID"),
        (hello("<script>"), "is a UUID"),
        (Bye(), "begins with a hello"),
    ],
)
def test_an_engine_that_can_not_be_recorded_is_told_why(
    server: RunningServer, greeting: Hello, reason: str
) -> None:
    with server.engine(greeting) as engine:
        assert isinstance(engine.welcome, Rejected)
        assert reason in engine.welcome.reason


def test_a_session_does_not_change_its_pool(server: RunningServer, frames: list[bytes]) -> None:
    greeting = hello()
    first = server.engine(greeting)
    first.send(frames[:5])
    first.wait_acked(4)
    first.break_off()
    with server.engine(hello(greeting.session, num_blocks=7)) as second:
        assert isinstance(second.welcome, Rejected)
        assert "another size" in second.welcome.reason


def test_steps_and_requests_are_indexed(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames)
    session = engine.hello.session
    server.wait_indexed(session, record_of(frames[-1]))
    steps = server.get(f"/sessions/{session}/steps")
    told = [found for found in map(decoded, frames) if isinstance(found, Step)]
    assert steps["step"] == [step.step for step in told]
    assert steps["op"] == [step.op for step in told]
    assert steps["indexed_record"] == record_of(frames[-1])
    for i in range(len(told)):
        assert sum(steps[name][i] for name in ("active", "shared", "cached", "free")) == BLOCKS
    operations = ("allocate", "evict", "reuse", "share", "copy", "fill", "cache", "release", "freed")
    assert [sum(row) for row in zip(*(steps[name] for name in operations), strict=True)] == [
        len(step.operations.kind) for step in told
    ]
    requests = server.get(f"/sessions/{session}/requests")["requests"]
    assert len(requests) > 50
    assert {row["state"] for row in requests} <= {"running", "finished", "aborted"}
    assert all(row["prompt_record"] is not None for row in requests)
    assert sum(row["output_tokens"] for row in requests) > 100


def test_tokens_of_contents_are_found_by_their_ids(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames)
    session = engine.hello.session
    server.wait_indexed(session, record_of(frames[-1]))
    found = server.get(f"/sessions/{session}/contents", content=[0, 3, 999_999])["contents"]
    assert found == [
        {"content": number, "parent": None, "tokens": [1, 2, 3, 4], "extra_keys": None, "hash": None}
        for number in (0, 3)
    ]


def test_the_server_answers_with_health_and_its_version(server: RunningServer) -> None:
    assert server.get("/health")["ok"] is True
    assert server.http.get("/api/nothing").status_code == 404
    assert server.http.get("/api/sessions/nothing").status_code == 404
    assert isinstance(server.http, httpx2.Client)


def test_a_number_past_two_to_the_53_is_refused(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(
        [*frames[:3], codec.seal(Gap(record=1 << 60, time=7, first=3, last=(1 << 60) - 1, reason="far"))]
    )
    engine.wait(lambda: engine.rejected is not None)
    assert "record" in (engine.rejected or "")


def test_what_no_index_takes_is_recorded_all_the_same(server: RunningServer, engine: HandEngine) -> None:
    frames = hand_frames(10)
    last = record_of(frames[-1])
    state = decoded(frames[-2])
    assert isinstance(state, Step)
    # A request whose numbers no database takes, in a step that is otherwise lawful.
    huge = Submitted(
        op=state.op + len(state.operations.kind),
        request=1 << 31,
        state_after="waiting",
        place_after=1e9,
        name="hu\0ge",
        prompt_tokens=(1 << 64) - 1,
        max_tokens=1,
    )
    step = msgspec.structs.replace(
        state, record=last + 1, step=state.step + 1, op=huge.op, operations=Operations(), decisions=[huge]
    )
    engine.send([*frames, codec.seal(step)])
    engine.wait_acked(last + 1)
    session = engine.hello.session
    assert len(server.bytes(f"/sessions/{session}/frames", after=last)) == 1
    more = msgspec.structs.replace(step, record=last + 2, step=step.step + 1, decisions=[])
    engine.send([codec.seal(more)])
    engine.wait_acked(last + 2)
    assert server.get(f"/sessions/{session}")["records"] == last + 3
