"""What the page may change: names, notes, removal; refused with a reason where it may not. And what a server keeps."""

import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kvarium.errors import ConflictError, UnknownSessionError
from kvarium.recording import sqlite_file, tables
from kvarium.recording.database import open_for_reading, open_for_server
from kvarium.recording.keeper import Keeper
from kvarium.recording.reader import Reader
from kvarium.recording.removal import direct, read_removed
from kvarium.recording.retention import Retention, used_bytes
from kvarium.verify import verify
from kvarium_ledger import codec
from kvarium_ledger.messages import Bye
from tests.backend.hand_engine import HandEngine, hand_frames, hello, record_of
from tests.backend.running_server import TOKEN, RunningServer, running, wait_for
from tests.backend.server_process import serving
from tests.vectors.recording import record


def row_counts(path: Path) -> dict[str, int]:
    """Rows of each table but the session's, of sessions that are not there."""
    connection = sqlite3.connect(path)
    names = [table.name for table in (tables.chunk, *tables.INDEX_TABLES, tables.note)]
    found = {
        name: connection.execute(
            f"SELECT count(*) FROM {name} WHERE session NOT IN (SELECT number FROM session)"
        ).fetchone()[0]
        for name in names
    }
    connection.close()
    return {name: count for name, count in found.items() if count}


@pytest.fixture
def past(recorded: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """A copy of the recording that is there."""
    path = tmp_path / "past.db"
    shutil.copy(recorded[0], path)
    return path, recorded[1]


# -- over REST ----------------------------------------------------------------------------------------------------------


def test_a_session_is_renamed(server: RunningServer, engine: HandEngine) -> None:
    at = f"/api/sessions/{engine.hello.session}"
    changed = server.http.patch(at, json={"name": "  a name with ünicode 🐟  "})
    assert (changed.status_code, changed.json()["name"]) == (200, "a name with ünicode 🐟")
    assert server.get("/sessions")["sessions"][0]["name"] == "a name with ünicode 🐟"
    # An engine that comes back brings its own name, which does not count any more.
    engine.break_off()
    with server.engine(engine.hello):
        assert server.get("/sessions")["sessions"][0]["name"] == "a name with ünicode 🐟"


def test_notes_are_made_changed_and_removed_while_the_session_is_live(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    engine.send(frames)
    engine.wait_acked(record_of(frames[-1]))
    at = f"/sessions/{engine.hello.session}/notes"
    step = server.http.post(f"/api{at}", json={"text": "here", "step": 17, "op": 3})
    assert step.status_code == 201
    made = step.json()
    assert (made["step"], made["text"], made["op"], made["mark"]) == (17, "here", 3, None)
    assert abs(made["created_utc_us"] / 1e6 - time.time()) < 60
    assert codec.peek(next(f for f in frames if record_of(f) == made["record"]))[0] == "step"
    last = server.http.post(f"/api{at}", json={"mark": "A"}).json()
    assert (last["step"], last["text"]) == (299, "")
    server.wait_indexed(engine.hello.session, record_of(frames[-1]))
    by_record = server.http.post(
        f"/api{at}", json={"text": "b", "mark": "B", "record": made["record"]}
    ).json()
    assert (by_record["step"], by_record["record"]) == (17, made["record"])
    moved = server.http.post(f"/api{at}", json={"mark": "A", "step": 1}).json()
    assert [note["number"] for note in server.get(at)["notes"]] == [
        moved["number"],
        made["number"],
        by_record["number"],
    ]
    one = f"/api{at}/{made['number']}"
    changed = server.http.patch(one, json={"text": "there", "colour": "teal"}).json()
    assert (changed["text"], changed["colour"], changed["step"]) == ("there", "teal", 17)
    told = [
        row
        for row in server.get(f"/sessions/{engine.hello.session}/landmarks")["landmarks"]
        if row["kind"] == "note"
    ]
    assert [(row["step"], row["message"]) for row in told] == [(1, "A"), (17, "there"), (17, "B: b")]
    assert server.http.delete(one).json() == {"removed": made["number"]}
    assert server.http.delete(one).status_code == 404
    assert len(server.get(at)["notes"]) == 2


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ('{"text": "x", "step": 300}', 404, "step 300 is not in the recording"),
        ('{"text": "x", "record": 99999}', 404, "record 99999 is not in the recording"),
        ('{"text": "x", "step": -1}', 422, "step must be at least 0, not -1"),
        (
            '{"text": "x", "step": 9007199254740992}',
            422,
            "step must be at most 9007199254740991, not 9007199254740992",
        ),
        ('{"text": "  "}', 422, "a note without text is none"),
        ('{"text": 7}', 422, "text must be text, not 7"),
        ('{"text": "a\\u0000b"}', 422, "it has no NUL"),
        ('{"text": "a", "mark": "AB"}', 422, "a mark is A or B, not 'AB'"),
        ('{"text": "a", "colour": "red;"}', 422, "a colour is a name"),
        ('{"text": "a", "colour": "nope"}', 422, "not 'nope'; names: aqua, black, "),
        ('{"text": "a", "by": "me"}', 422, "a note takes no by, but text, step, record"),
        ("{", 422, "the body ends in the middle of its JSON"),
        ("[" * 100_000, 422, "the body is nested too deep"),
        ("\xff", 422, ""),
        ('{"text": "' + "a" * 10_001 + '"}', 422, "at most 10,000 characters"),
        ('{"text": "' + "a" * (1 << 20) + '"}', 413, "the body has more than"),
    ],
)
def test_a_note_that_is_none_is_refused_with_its_reason(
    past: tuple[Path, str], body: str, status: int, what: str
) -> None:
    with running(past[0]) as server:
        answer = server.http.post(f"/api/sessions/{past[1]}/notes", content=body.encode("latin-1"))
        assert answer.status_code == status, answer.text
        assert what in answer.json()["detail"]
        assert server.get(f"/sessions/{past[1]}/notes") == {"notes": []}


Ask = Callable[[RunningServer, str], Any]
CHANGES: list[Ask] = [
    lambda server, session: server.http.patch(f"/api/sessions/{session}", json={"name": "x"}),
    lambda server, session: server.http.delete(f"/api/sessions/{session}"),
    lambda server, session: server.http.post(f"/api/sessions/{session}/notes", json={"text": "x"}),
    lambda server, session: server.http.patch(f"/api/sessions/{session}/notes/1", json={"text": "x"}),
    lambda server, session: server.http.delete(f"/api/sessions/{session}/notes/1"),
]


@pytest.mark.parametrize("ask", CHANGES)
def test_nothing_is_changed_where_changes_are_not_allowed(past: tuple[Path, str], ask: Ask) -> None:
    with running(past[0], read_only=True) as server:
        answer = ask(server, past[1])
        assert (answer.status_code, "read-only" in answer.json()["detail"]) == (409, True)
    with running(past[0], allow_changes=False) as server:
        answer = ask(server, past[1])
        assert (answer.status_code, "--allow-changes" in answer.json()["detail"]) == (403, True)
    with running(past[0], bound_host="0.0.0.0") as server:
        assert ask(server, past[1]).status_code == 403
    with running(past[0]) as server:
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            server.http.headers.update(headers)
            assert ask(server, past[1]).status_code == 403
            for name in headers:
                del server.http.headers[name]
        assert ask(server, "nobody").status_code == 404
        assert server.get(f"/sessions/{past[1]}")["name"] == "by hand"
        assert server.get(f"/sessions/{past[1]}/notes") == {"notes": []}


def test_a_live_session_is_not_removed_and_an_ended_one_is(
    server: RunningServer, frames: list[bytes]
) -> None:
    engine = server.engine()
    engine.send(frames)
    engine.wait_acked(record_of(frames[-1]))
    at = f"/api/sessions/{engine.hello.session}"
    refused = server.http.delete(at)
    assert (refused.status_code, "is being recorded" in refused.json()["detail"]) == (409, True)
    other = server.engine()
    engine.bye()
    wait_for(lambda: server.get(f"/sessions/{engine.hello.session}")["state"] == "ended")
    # While another engine goes on.
    other.send(frames[:300])
    told = server.http.delete(at).json()
    other.send(frames[300:])
    assert told["removed"] == [engine.hello.session]
    for path in ("", "/steps", "/hello", "/seek?step=1", "/notes", "/download"):
        assert server.http.get(at + path).status_code == 404
    assert server.http.delete(at).status_code == 404
    assert [row["id"] for row in server.get("/sessions")["sessions"]] == [other.hello.session]
    other.wait_acked(record_of(frames[-1]))
    other.bye()
    server.wait_indexed(other.hello.session, record_of(frames[-1]))
    assert verify(server.hub.reader, server.hub.number(other.hello.session)).good
    assert row_counts(Path(server.path)) == {}


def test_who_watches_a_session_that_is_removed_is_told(server: RunningServer, frames: list[bytes]) -> None:
    engine = server.engine()
    engine.send(frames[:50])
    engine.wait_acked(record_of(frames[49]))
    session = engine.hello.session
    with server.watch(session) as watch:
        watch.until(lambda found: getattr(found, "record", None) == record_of(frames[49]))
        engine.break_off()
        live = server.hub.live[session]
        server.hub._grace_seconds = 0.0
        wait_for(lambda: live.state == "interrupted")
        assert server.http.delete(f"/api/sessions/{session}").status_code == 200
        last = watch.until(lambda found: isinstance(found, Bye))[-1]
        assert isinstance(last, Bye)
        assert last.reason == "the session was removed"
    # The engine that comes back all the same is a new one here, and is told what it must begin with.
    with server.engine(hello(session)) as again:
        assert again.acked == -1


def test_a_number_that_is_given_again_brings_nothing_of_the_removed_session(
    server: RunningServer, frames: list[bytes]
) -> None:
    for seed in (1, 2):
        own = hand_frames(40, seed)
        engine = server.engine()
        engine.send(own)
        engine.wait_acked(record_of(own[-1]))
        engine.bye()
        session = engine.hello.session
        server.wait_indexed(session, record_of(own[-1]))
        assert server.hub.number(session) == 1
        assert verify(server.hub.reader, 1).messages == []
        assert server.http.delete(f"/api/sessions/{session}").status_code == 200


# -- removal ------------------------------------------------------------------------------------------------------------


class _CrashError(Exception):
    pass


@pytest.mark.parametrize("turns", [1, 2, 5, 9])
def test_a_removal_that_breaks_off_is_not_seen_and_the_next_server_ends_it(
    past: tuple[Path, str], turns: int
) -> None:
    path, session = past
    record(path, "another", 60, 3)
    database = open_for_server(str(path))
    left = [turns]
    straight = direct(database)

    def breaking(change: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise _CrashError
        return straight(change)

    number = Reader(database).find(session)
    with pytest.raises(_CrashError):
        Keeper(database, breaking, alone=True).remove([number], "a test")
    database.close()
    reading = open_for_reading(str(path))
    assert [row["id"] for row in Reader(reading).sessions()] == ["another"]
    with pytest.raises(UnknownSessionError):
        Reader(reading).find(session)
    reading.close()
    with running(path) as server:
        wait_for(lambda: read_removed(server.database) != [])
        assert [row["id"] for row in read_removed(server.database)] == [session]
    assert row_counts(path) == {}


def test_removing_while_others_read_waits_for_nobody(
    past: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_BUSY_SECONDS", 600.0)
    path, session = past
    database = open_for_server(str(path))
    number = Reader(database).find(session)
    query = sa.select(sa.func.count()).select_from(tables.chunk)
    with database.engine.connect() as reading:
        before = reading.execute(query).scalar_one()
        assert before > 1
        began = time.monotonic()
        done = Keeper(database, direct(database), alone=False).remove([number], "a test")
        assert time.monotonic() - began < 60
        assert reading.execute(query).scalar_one() == before
    assert done.freed > 50_000
    with database.engine.connect() as reading:
        assert reading.execute(query).scalar_one() == 0
    database.close()


def test_all_or_none_are_removed_when_one_is_live(past: tuple[Path, str]) -> None:
    path, _ = past
    record(path, "another", 20, 3)
    database = open_for_server(str(path))
    with database.writing().begin() as connection:
        connection.execute(sa.update(tables.session).where(tables.session.c.number == 2).values(state="live"))
    with pytest.raises(ConflictError):
        Keeper(database, direct(database), alone=True).remove([1, 2], "a test")
    assert len(Reader(database).sessions()) == 2
    database.close()


# -- retention ----------------------------------------------------------------------------------------------------------


NAMES = [f"day{day}" for day in range(5)]


@pytest.fixture(scope="module")
def recorded_five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("five") / "five.db"
    for seed, name in enumerate(NAMES):
        record(path, name, 80, seed)
    return path


@pytest.fixture
def five(recorded_five: Path, tmp_path: Path) -> Path:
    """Five sessions, one a day; the last one ended now."""
    path = tmp_path / "five.db"
    shutil.copy(recorded_five, path)
    now = time.time_ns() // 1000
    connection = sqlite3.connect(path)
    for day, name in enumerate(NAMES):
        connection.execute(
            "UPDATE session SET started_utc_us = ? - duration_ns / 1000 WHERE id = ?",
            (now - (4 - day) * 86_400_000_000, name),
        )
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("limits", "kept", "reason"),
    [
        ({"sessions": 2}, 2, "--keep-sessions 2"),
        ({"sessions": 0}, 0, "--keep-sessions 0"),
        ({"days": 2.5}, 3, "--keep-days 2.5"),
        ({"bytes": -1}, 0, "--keep-bytes -1"),
        ({"sessions": 5, "days": 100, "bytes": 1 << 30}, 5, None),
        ({}, 5, None),
    ],
)
def test_the_oldest_sessions_go_at_the_start(
    five: Path, limits: dict[str, Any], kept: int, reason: str | None
) -> None:
    with running(five, retention=Retention(**limits)) as server:
        wait_for(lambda: len(server.get("/sessions")["sessions"]) <= kept)
        time.sleep(0.1)
        assert [row["id"] for row in reversed(server.get("/sessions")["sessions"])] == NAMES[5 - kept :]
        wait_for(lambda: len(read_removed(server.database)) == 5 - kept)
        told = [(row["id"], row["reason"]) for row in reversed(read_removed(server.database))]
        assert told == [(name, reason) for name in NAMES[: 5 - kept]]
    assert row_counts(five) == {}


def test_by_size_as_few_go_as_are_needed(five: Path) -> None:
    database = open_for_reading(str(five))
    used = used_bytes(database)
    database.close()
    limit = used * 2 // 3
    with running(five, retention=Retention(bytes=limit)) as server:
        wait_for(lambda: used_bytes(server.database) <= limit)
        left = [row["id"] for row in reversed(server.get("/sessions")["sessions"])]
        assert left == NAMES[5 - len(left) :]
        assert 1 <= len(left) <= 4
        assert used_bytes(server.database) > limit * 3 // 5


def test_the_oldest_goes_when_a_session_ends_and_the_live_one_is_never_touched(five: Path) -> None:
    with serving(five, "--keep-sessions", "5", "--keep-bytes", "10G", "--keep-days", "365") as server:
        url = server.url.replace("http://", "ws://")
        engine = HandEngine(url, TOKEN, hello("live-one", utc_us=time.time_ns() // 1000))
        own = hand_frames(20)
        engine.send(own)
        engine.wait_acked(record_of(own[-1]))
        time.sleep(0.3)
        with server.http() as http:
            assert len(http.get("/api/sessions").json()["sessions"]) == 6
            engine.bye()
            server.wait_line(f"removed session {NAMES[0]} (--keep-sessions 5), ")
            left = {row["id"] for row in http.get("/api/sessions").json()["sessions"]}
        assert left == {*NAMES[1:], "live-one"}
