"""Seek: whatever the target, folding what the server gives is folding from the start."""

import random
import shutil
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError
from kvarium.heads import read_head
from kvarium.recording import seek as seek_module
from kvarium.recording import tables
from kvarium.recording import trail as trail_module
from kvarium.recording.database import open_for_reading, writable_sqlite
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger import codec
from kvarium_ledger.codec import FrameError
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Contents, Keyframe, Step, Text
from tests.backend.hand_engine import BLOCKS, SIZE, HandEngine, decoded, hand_frames, hello, record_of
from tests.backend.laid_over import laid_over
from tests.backend.running_server import RunningServer, running
from tests.plain_state import plain_state


def folded(frames: list[bytes], through: int) -> Fold:
    """A fold that begins with the first frame's keyframe and has taken everything through a record."""
    fold = Fold(BLOCKS, SIZE)
    first = decoded(frames[0])
    assert isinstance(first, Keyframe)
    fold.load(first)
    for frame in frames[1:]:
        if record_of(frame) <= through:
            assert fold.apply(decoded(frame)) == []
    assert fold.record == through
    return fold


def test_seeking_any_step_equals_folding_from_the_start(
    recorded: tuple[Path, str], frames: list[bytes], rng: random.Random
) -> None:
    path, session = recorded
    with running(path, read_only=True) as server:
        steps = [found for found in map(decoded, frames) if isinstance(found, Step)]
        for step in [steps[0], steps[-1], *rng.sample(steps, 25)]:
            found = server.bytes(f"/sessions/{session}/seek", step=step.step, ahead_bytes=0)
            assert record_of(found[0]) < step.record
            assert [record_of(frame) for frame in found[1:]] == list(
                range(record_of(found[0]) + 1, record_of(found[-1]) + 1)
            )
            assert found[1:] == frames[record_of(found[1]) : record_of(found[-1]) + 1]
            last = decoded(found[-1])
            assert (isinstance(last, (Step, Text))) and last.step == step.step
            assert plain_state(folded(found, last.record)) == plain_state(folded(frames, last.record))


def test_a_recording_of_some_size_holds_more_than_one_keyframe(recorded: tuple[Path, str]) -> None:
    database = open_for_reading(str(recorded[0]))
    with database.engine.connect() as connection:
        columns = tables.keyframe.c
        rows = connection.execute(sa.select(columns.record, columns.origin).order_by(columns.record)).all()
    database.close()
    assert rows[0] == (0, "engine")
    assert len(rows) > 1
    assert {row[1] for row in rows[1:]} == {"fold"}


def test_some_frames_ahead_of_the_target_come_with_it(
    recorded: tuple[Path, str], frames: list[bytes]
) -> None:
    path, session = recorded
    with running(path, read_only=True) as server:
        found = server.bytes(f"/sessions/{session}/seek", record=40, ahead_bytes=5000)
        ahead = [frame for frame in found[1:] if record_of(frame) > 40]
        assert ahead == frames[41 : 41 + len(ahead)]
        assert 5000 <= sum(len(frame) for frame in ahead) < 5000 + max(len(frame) for frame in frames)


def test_who_wants_no_contents_folds_to_the_same_blocks(
    recorded: tuple[Path, str], frames: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    # No stored keyframe is so near that its own frame is the answer.
    monkeypatch.setattr(seek_module, "_FAST_FORWARD_BYTES", -1)
    path, session = recorded
    with running(path, read_only=True) as server:
        last = record_of(frames[-1])
        full, bare = (
            server.bytes(f"/sessions/{session}/seek", record=last, ahead_bytes=0, contents=told)
            for told in ("all", "none")
        )
        assert full[1:] == bare[1:]
        told, left = decoded(full[0]), decoded(bare[0])
        assert isinstance(told, Keyframe)
        assert told.contents.content
        assert left == msgspec.structs.replace(told, contents=Contents())
        assert folded(bare, last).verified
        refused = server.http.get(f"/api/sessions/{session}/seek", params={"record": 5, "contents": "some"})
        assert refused.status_code == 422


def test_who_has_an_earlier_keyframe_is_told_what_changed_since(
    recorded: tuple[Path, str], frames: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seek_module, "_FAST_FORWARD_BYTES", -1)
    monkeypatch.setattr(seek_module, "_PREPARED_BYTES", 0)
    monkeypatch.setattr(trail_module, "_MOST", 100)
    path, session = recorded
    with running(path, read_only=True) as server:

        def sought(record: int, **more: str | int) -> list[bytes]:
            return server.bytes(f"/sessions/{session}/seek", record=record, ahead_bytes=0, **more)

        # Opening it begins the trail.
        assert server.http.get(f"/api/sessions/{session}/hello").status_code == 200
        last = record_of(frames[-1])
        early = decoded(sought(last // 2, contents="none")[0])
        whole = sought(last, contents="none")
        assert isinstance(early, Keyframe)
        assert early.since is None
        told = sought(last, contents="none", since=early.record)
        state = laid_over(early, told[0])
        assert early.record < state.record
        assert told[1:] == frames[state.record + 1 :]
        assert plain_state(folded([codec.seal(state), *told[1:]], last)) == plain_state(folded(frames, last))
        # Who has nothing of use gets all of it, as does who wants the contents too.
        assert sought(last, contents="none", since=last) == whole
        assert decoded(sought(last, since=early.record)[0]).since is None
        with pytest.raises(FrameError, match=f"what changed since record {early.record} is no state"):
            Fold(BLOCKS, SIZE).load(decoded(told[0]))
        refused = server.http.get(f"/api/sessions/{session}/seek", params={"record": last, "since": "early"})
        assert refused.status_code == 422


def test_who_opens_a_long_session_need_not_wait_at_the_first_seek(
    recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, session = recorded
    database = open_for_reading(str(path))
    reader = Reader(database)
    number, seeker = reader.number(session), Seeker(reader)
    # A short one has nothing to prepare.
    seeker.prepare(number)
    assert not seeker._trails
    monkeypatch.setattr(seek_module, "_PREPARED_BYTES", 0)
    row = reader.session(number)
    monkeypatch.setattr(reader, "session", lambda session: row | {"state": "live"})
    seeker.prepare(number)
    assert not seeker._trails
    monkeypatch.setattr(reader, "session", lambda session: row)
    seeker.prepare(number)
    assert seeker.settle(number, 30)
    assert seeker._trails[number].walked == row["last_record"]
    seeker.close()
    database.close()


def test_the_first_record_is_the_engines_keyframe(recorded: tuple[Path, str], frames: list[bytes]) -> None:
    path, session = recorded
    with running(path, read_only=True) as server:
        assert server.bytes(f"/sessions/{session}/seek", record=0, ahead_bytes=0) == [frames[0]]


def test_operations_and_times_lead_to_the_step_that_holds_them(
    recorded: tuple[Path, str], frames: list[bytes], rng: random.Random
) -> None:
    path, session = recorded
    with running(path, read_only=True) as server:

        def sought(**query: int) -> tuple[int, int]:
            response = server.http.get(f"/api/sessions/{session}/seek", params={**query, "ahead_bytes": 0})
            assert response.status_code == 200, response.text
            through = int(response.headers["kvarium-record"])
            found = list(codec.unpack(response.content))
            assert plain_state(folded(found, record_of(found[-1]))) == plain_state(
                folded(frames, record_of(found[-1]))
            )
            return int(response.headers["kvarium-step"]), through

        steps = [found for found in map(decoded, frames) if isinstance(found, Step)]
        chosen = rng.sample(range(len(steps) - 1), 8)
        for step, after in ((steps[at], steps[at + 1]) for at in chosen):
            target = (step.step, step.record)
            assert sought(step=step.step) == sought(record=step.record) == target
            assert sought(time=step.sealed) == target
            if after.sealed > step.sealed:
                assert sought(time=after.sealed - 1) == target
            count = len(step.operations.kind)
            if count:
                assert sought(op=step.op) == sought(op=step.op + count - 1) == target
        assert sought(record=0) == (-1, 0)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("step=100000", 404),
        ("record=100000", 404),
        ("step=-1", 422),
        ("step=x", 422),
        ("", 422),
        ("step=1&record=1", 422),
        ("op=1&time=1", 422),
        ("op=1000000000", 404),
        ("op=-1", 422),
        ("time=0", 404),
        ("time=9000000000000000", 404),
        ("time=x", 422),
        ("step=1&ahead_bytes=-1", 422),
    ],
)
def test_a_target_out_of_range_is_refused_with_the_reason(
    recorded: tuple[Path, str], query: str, status: int
) -> None:
    path, session = recorded
    with running(path, read_only=True) as server:
        response = server.http.get(f"/api/sessions/{session}/seek?{query}")
        assert response.status_code == status
        assert response.json()["detail"]


def test_a_live_session_can_be_sought_up_to_its_last_record(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames)
    session = engine.hello.session
    last = record_of(frames[-1])
    with server.watch(session) as watch:
        watch.until(lambda found: getattr(found, "record", None) == last)
        # Nothing waits until the quarter of a second is over in which a chunk is collected.
        found = server.bytes(f"/sessions/{session}/seek", record=last, ahead_bytes=0)
    assert found[-1] == frames[-1]


def test_a_chunk_with_a_flipped_bit_is_named_and_not_served(
    tmp_path: Path, recorded: tuple[Path, str]
) -> None:
    path = tmp_path / "damaged.db"
    shutil.copy(recorded[0], path)
    database = writable_sqlite(path)
    with database.writing().begin() as connection:
        columns = tables.chunk.c
        row = connection.execute(sa.select(columns.first, columns.data).limit(1)).one()
        data = bytearray(row.data)
        data[len(data) // 2] ^= 1
        connection.execute(sa.update(tables.chunk).where(columns.first == row.first).values(data=bytes(data)))
    with pytest.raises(DamagedRecordingError, match=r"the chunk of records 0 to \d+: its checksum"):
        list(Reader(database).frames(1))
    database.close()
    with running(path, read_only=True) as server:
        response = server.http.get(f"/api/sessions/{recorded[1]}/seek", params={"record": 5})
        assert response.status_code == 500
        assert "damaged" in response.json()["detail"]


def test_frames_come_in_pieces_without_a_hole(recorded: tuple[Path, str], frames: list[bytes]) -> None:
    path, session = recorded
    with running(path, read_only=True) as server:
        got: list[bytes] = []
        for _ in range(len(frames)):
            more = server.bytes(f"/sessions/{session}/frames", after=len(got) - 1, limit_bytes=20_000)
            if not more:
                break
            got += more
        assert got == frames


def test_a_recording_without_text_can_be_sought_too(server: RunningServer, engine: HandEngine) -> None:
    frames = hand_frames(50, record_text="none")
    engine.send(frames)
    engine.wait_acked(record_of(frames[-1]))
    found = server.bytes(f"/sessions/{engine.hello.session}/seek", step=30, ahead_bytes=0)
    last = codec.open_frame(found[-1])
    assert isinstance(last, Step)
    assert last.step == 30


def test_an_engine_of_version_1_is_recorded_and_sought(server: RunningServer) -> None:
    stored = Path(__file__).parents[1] / "vectors" / "version-1" / "hand.frames"
    frames = [frame for frame in codec.unpack(stored.read_bytes()) if read_head(frame).record is not None]
    greeting = hello(version=1)
    with server.engine(greeting) as engine:
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        found = server.bytes(
            f"/sessions/{greeting.session}/seek", record=record_of(frames[-1]), ahead_bytes=0
        )
    assert found == frames
