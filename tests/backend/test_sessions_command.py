"""``kvarium sessions``: names, notes, removal and export, with and without a server that records into the same file."""

import json
import os
import pty
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.verify import verify
from tests.backend.server_process import KVARIUM, environment, kvarium, serving
from tests.backend.test_cli import Run, one_line, run
from tests.vectors.recording import record, stored

__all__ = ["run"]


STEPS = 250


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of three sessions; copy it before changing it."""
    path = tmp_path_factory.mktemp("three") / "three.db"
    for name, seed in (("aaaa", 1), ("bbbb", 2), ("bbcc", 3)):
        record(path, f"{name}0000-0000-4000-8000-000000000000", STEPS, seed)
    return path


@pytest.fixture
def copy(three: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy.db"
    shutil.copy(three, path)
    return path


def ids(path: Path) -> list[str]:
    database = open_for_reading(str(path))
    try:
        return sorted(row["id"][:4] for row in Reader(database).sessions())
    finally:
        database.close()


def rows_of(path: Path, number: int) -> int:
    names = ("chunk", "keyframe", "step", "landmark", "request", "content", "piece", "note")
    connection = sqlite3.connect(path)
    found = sum(
        connection.execute(f"SELECT count(*) FROM {name} WHERE session = ?", (number,)).fetchone()[0]
        for name in names
    )
    connection.close()
    return int(found)


def test_removing_frees_the_file_and_leaves_the_others_whole(run: Run, copy: Path) -> None:
    before = copy.stat().st_size
    assert rows_of(copy, 1) > 100
    done = run("sessions", "rm", "aaaa", "bbcc", "--db", str(copy), "--json")
    told = json.loads(done.stdout)
    assert [found[:4] for found in told["removed"]] == ["aaaa", "bbcc"]
    assert told["reusable_bytes"] == 0
    assert before - copy.stat().st_size >= told["freed_bytes"] > before / 3
    assert ids(copy) == ["bbbb"]
    assert rows_of(copy, 1) == rows_of(copy, 3) == 0
    database = open_for_reading(str(copy))
    assert verify(Reader(database), 2).good
    database.close()
    assert [found.name for found in copy.parent.iterdir()] == [copy.name]
    listed = run("sessions", "ls", "--db", str(copy)).stdout.splitlines()
    assert listed[-1].startswith("removed before: 2, the last one bbcc0000 at ")
    assert "(kvarium sessions rm)" in listed[-1]


def test_a_file_of_the_first_format_gets_smaller_too(run: Run, tmp_path: Path) -> None:
    path = stored(1, tmp_path)
    record(path, "another", STEPS, 5)
    before = path.stat().st_size
    done = run("sessions", "rm", "another", "--db", str(path))
    assert done.returncode == 0
    assert "removed 1 session, " in done.stdout
    assert path.stat().st_size < before - 50_000
    assert ids(path) == ["5e55"]


def test_removing_by_age_takes_what_ended_before(run: Run, copy: Path) -> None:
    connection = sqlite3.connect(copy)
    now = time.time_ns() // 1000
    for number, days in ((1, 40), (2, 29), (3, 0)):
        connection.execute(
            "UPDATE session SET started_utc_us = ? WHERE number = ?", (now - days * 86_400_000_000, number)
        )
    connection.commit()
    connection.close()
    assert "no session is so old" in run("sessions", "rm", "--older-than", "6w", "--db", str(copy)).stdout
    assert run("sessions", "rm", "--older-than", "30d", "--db", str(copy)).returncode == 0
    assert ids(copy) == ["bbbb", "bbcc"]
    assert run("sessions", "rm", "--older-than", "12h", "--db", str(copy), "--yes").returncode == 0
    assert ids(copy) == ["bbcc"]
    listed = json.loads(run("sessions", "ls", "--db", str(copy), "--json").stdout)
    reasons = [row["reason"] for row in listed["removed"]]
    assert reasons == ["kvarium sessions rm --older-than 12h", "kvarium sessions rm --older-than 30d"]


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["rm"], "say which sessions to remove"),
        (["rm", "aaaa", "--older-than", "3d"], "say which sessions to remove"),
        (["rm", "zzzz"], "no session 'zzzz'"),
        (["rm", "aaaa", "bb"], "session 'bb' is not unique"),
        (["export", "aaaa", ""], "the path is empty: give the name of a file"),
        (["import", ""], "the path is empty: give the name of a file"),
        (["rename", "aaaa", "x" * 201], "at most 200 characters"),
        (["rename", "aaaa", "a\nb"], "without control characters"),
        (["note", "aaaa"], "a note without text is none"),
        (["note", "aaaa", "x", "--step", "250"], "step 250 is not in the recording"),
        (["note", "aaaa", "x", "--mark", "C"], "a mark is A or B, not 'C'"),
        (["note", "aaaa", "x", "--colour", "Red!"], "a colour is a name or #rrggbb"),
        (["note", "aaaa", "x", "--colour", "nope"], "not 'nope'; names: aqua, black, "),
        (["note", "aaaa", "x" * 10_001], "at most 10,000 characters"),
        (["note", "aaaa", "--remove", "5"], "the session has no note 5"),
        (["note", "aaaa", "x", "--step", str(1 << 70)], "is not in the recording, which holds steps up to"),
        (["note", "aaaa", "--remove", str(1 << 70)], f"the session has no note {1 << 70}"),
    ],
)
def test_what_can_not_be_done_is_refused_and_changes_nothing(
    run: Run, copy: Path, args: list[str], what: str
) -> None:
    before = sqlite_dump(copy)
    done = run("sessions", *args, "--db", str(copy))
    assert done.returncode == 1
    assert what in one_line(done.stderr)
    assert sqlite_dump(copy) == before


def sqlite_dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    found = list(connection.iterdump())
    connection.close()
    return found


@pytest.mark.parametrize("age", ["", "30", "d", "1y", "-3d", "1e9d", "٣d", "9" * 30 + "w"])
def test_an_age_that_is_none_is_wrong_usage(run: Run, copy: Path, age: str) -> None:
    done = run("sessions", "rm", f"--older-than={age}", "--db", str(copy))
    assert done.returncode == 2
    assert "Invalid value" in done.stderr
    assert len(ids(copy)) == 3


def test_a_recording_that_is_not_there_is_not_made(run: Run, tmp_path: Path) -> None:
    for args in (["rm", "a"], ["rename", "a", "b"], ["note", "a", "b"], ["export", "a"]):
        done = run("sessions", *args, "--db", str(tmp_path / "nothing.db"))
        assert done.returncode == 1
        assert "there is no file" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_at_a_terminal_it_asks(copy: Path) -> None:
    for answer, left in (("n", 3), ("y", 2)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*KVARIUM, "sessions", "rm", "aaaa", "--db", str(copy)],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        _, errors = process.communicate(timeout=60)
        os.close(ours)
        assert "Remove 1 session? [y/N]" in errors
        assert (process.returncode == 0) is (answer == "y")
        assert len(ids(copy)) == left


def test_names_and_notes_become_part_of_the_recording_and_of_its_copies(
    run: Run, copy: Path, tmp_path: Path
) -> None:
    db = ["--db", str(copy)]
    assert "'a better name'" in run("sessions", "rename", "aaaa", " a better name ", *db).stdout
    assert "at step 30: where it began" in run(
        "sessions", "note", "aaaa", "where it began", "--step", "30", "--colour", "#ff8800", *db
    ).stdout  # fmt: skip
    run("sessions", "note", "aaaa", "--mark", "A", "--step", "5", *db)
    run("sessions", "note", "aaaa", "moved", "--mark", "A", "--step", "7", *db)
    run("sessions", "note", "aaaa", "the end", *db)
    shown = run("sessions", "show", "aaaa", *db).stdout
    assert "a better name" in shown
    assert "mark A at step 7: moved" in shown
    file = tmp_path / "one.db"
    done = run("sessions", "export", "aaaa", str(file), *db)
    assert done.stdout.startswith(f"{file}: ")
    told = [json.loads(run("sessions", "show", "--json", "--db", str(path)).stdout) for path in (copy, file)]
    told[0] = json.loads(run("sessions", "show", "aaaa", "--json", *db).stdout)
    assert told[0]["notes"] == told[1]["notes"]
    places = [(note["step"], note["mark"], note["text"]) for note in told[1]["notes"]]
    assert places == [(7, "A", "moved"), (30, None, "where it began"), (STEPS - 1, None, "the end")]
    number = told[0]["notes"][1]["number"]
    assert run("sessions", "note", "aaaa", "--remove", str(number), *db).returncode == 0
    left = json.loads(run("sessions", "show", "aaaa", "--json", *db).stdout)["notes"]
    assert [note["text"] for note in left] == ["moved", "the end"]
    assert kvarium("verify", "aaaa", *db).returncode == 0
    refused = run("sessions", "export", "aaaa", str(file), *db)
    assert "is there already" in one_line(refused.stderr)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["copy.db", "one.db"]


def test_an_export_of_a_recording_of_an_older_format_is_of_the_present_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stored(1, tmp_path)
    before = path.read_bytes()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run("sessions", "export", "--db", str(path)).returncode == 0
    assert path.read_bytes() == before
    (made,) = (tmp_path / "here").iterdir()
    assert made.name == "by-hand-5e550000.db"
    assert kvarium("verify", "--db", str(made)).returncode == 0


def test_while_a_server_records_it_is_the_server_that_does_it(run: Run, copy: Path) -> None:
    db = ["--db", str(copy)]
    with serving(copy) as server:
        engine = server.engine("11ee0000-0000-4000-8000-000000000000")
        assert run("sessions", "rename", "aaaa", "from outside", *db).returncode == 0
        assert run("sessions", "note", "bbcc", "seen", "--mark", "B", *db).returncode == 0
        shown = json.loads(run("sessions", "show", "aaaa", *db, "--json").stdout)
        assert shown["name"] == "from outside"
        refused = run("sessions", "rm", "bbbb", "11ee", *db)
        assert "is being recorded" in one_line(refused.stderr)
        assert len(ids(copy)) == 4
        before = copy.stat().st_size
        told = json.loads(run("sessions", "rm", "aaaa", "bbbb", *db, "--json").stdout)
        assert told["freed_bytes"] > 50_000
        assert told["reusable_bytes"] == 0
        assert before - copy.stat().st_size > 50_000
        assert ids(copy) == ["11ee", "bbcc"]
        listed = run("sessions", "ls", *db).stdout.splitlines()
        assert "(kvarium sessions rm)" in listed[-1]
        refused = run("sessions", "note", "bbcc", "x", "--step", "600", *db)
        assert "step 600 is not in the recording" in one_line(refused.stderr)
        engine.close()
    assert rows_of(copy, 1) == rows_of(copy, 2) == 0


def test_a_server_that_does_not_tell_where_it_is_is_named(run: Run, copy: Path) -> None:
    lock = copy.with_name(copy.name + ".lock")
    program = f"import fcntl, sys; f = open({str(lock)!r}, 'w'); f.write('1'); f.flush(); fcntl.flock(f, 2); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    done = run("sessions", "rm", "aaaa", "--db", str(copy))
    holder.communicate("")
    assert "a kvarium server records into" in one_line(done.stderr)
    assert len(ids(copy)) == 3


@pytest.mark.parametrize("text", ["", "G", "-1", "1e9", "10X", "1.2.3", "٣"])
def test_a_size_that_is_none_is_wrong_usage(run: Run, db: Path, text: str) -> None:
    done = run("serve", "--no-engine", "--db", str(db), f"--keep-bytes={text}")
    assert done.returncode == 2
    assert "is no size, as 500M" in done.stderr
    assert not db.exists()
