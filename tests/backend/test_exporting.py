"""Exports over HTTP: the command's own files, refused with a reason, and nothing left when they are given up."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kvarium.sql.schema import TABLES
from tests.backend.running_server import RunningServer, running, wait_for
from tests.backend.server_process import kvarium
from tests.backend.test_limits import connect_raw


@pytest.fixture(scope="module")
def viewing(
    recorded: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, str]]:
    path = tmp_path_factory.mktemp("viewing") / "recording.db"
    shutil.copy(recorded[0], path)
    with running(path, read_only=True) as server:
        yield server, recorded[1]


@pytest.fixture
def made_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server makes its files."""
    folder = tmp_path / "made"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def get(viewing: tuple[RunningServer, str], **query: Any) -> httpx2.Response:
    server, session = viewing
    return server.http.get(f"/api/sessions/{session}/export", params=query, timeout=150)


def name_of(answer: httpx2.Response) -> str:
    return answer.headers["content-disposition"].split('"')[1]


@pytest.mark.parametrize("kind", ["jsonl", "perfetto"])
def test_an_export_is_the_file_that_the_command_writes(
    viewing: tuple[RunningServer, str], made_in: Path, tmp_path: Path, kind: str
) -> None:
    answer = get(viewing, format=kind)
    assert answer.status_code == 200, answer.text
    place = tmp_path / name_of(answer)
    done = kvarium("export", viewing[1], "--db", str(viewing[0].path), "--format", kind, "-o", str(place))
    assert done.returncode == 0, done.stderr
    assert answer.content == place.read_bytes()
    assert int(answer.headers["content-length"]) == len(answer.content)
    wait_for(lambda: list(made_in.iterdir()) == [])


def test_tables_come_as_one_archive(viewing: tuple[RunningServer, str], made_in: Path) -> None:
    answer = get(viewing, format="parquet")
    assert answer.status_code == 200, answer.text
    assert name_of(answer).endswith(".parquet.zip")
    with zipfile.ZipFile(BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        names = [Path(name).name for name in archive.namelist()]
        assert sorted(names) == sorted(f"{name}.parquet" for name in TABLES)
        assert {Path(name).parent.name for name in archive.namelist()} == {
            name_of(answer).removesuffix(".zip")
        }
    wait_for(lambda: list(made_in.iterdir()) == [])


def test_an_export_without_text_has_none(viewing: tuple[RunningServer, str], made_in: Path) -> None:
    answer = get(viewing, format="jsonl", strip_text="none", strip_notes="true")
    assert answer.status_code == 200, answer.text
    lines = [json.loads(line) for line in answer.content.splitlines()]
    assert sum(line["type"] == "operation" for line in lines) > 100
    # A text record that has lost its text says which step it was of, and no more.
    assert {tuple(sorted(line)) for line in lines if line["type"] == "text"} == {("record", "step", "type")}
    assert name_of(answer).endswith("-text-none.jsonl")
    wait_for(lambda: list(made_in.iterdir()) == [])


@pytest.mark.parametrize(
    ("query", "status", "what"),
    [
        ({"format": "pdf"}, 422, "kvarium"),
        ({}, 422, "format"),
        ({"format": "html", "steps": "5"}, 422, "steps='5' is no part"),
        ({"format": "html", "steps": "1.." + "9" * 12}, 404, '"step 999999999999 is not in the recording'),
        ({"format": "jsonl", "steps": "1..5"}, 422, "steps takes a part as html; jsonl is written whole"),
        ({"format": "jsonl", "answers": "5"}, 422, "answers are part of html; jsonl has none"),
        ({"format": "jsonl", "strip_text": "some"}, 422, "hash"),
        ({"format": "jsonl", "strip_notes": "true"}, 422, "strip_notes belongs to strip_text"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_its_reason(
    viewing: tuple[RunningServer, str], made_in: Path, query: dict[str, str], status: int, what: str
) -> None:
    answer = get(viewing, **query)
    assert (answer.status_code, what in answer.text) == (status, True), answer.text
    assert list(made_in.iterdir()) == []


def test_steps_that_cannot_be_are_refused_before_a_place_is_taken(viewing: tuple[RunningServer, str]) -> None:
    server, _ = viewing
    with server.hub.exporting() as first, server.hub.exporting() as second:
        assert first is not None and second is not None
        taken = get(viewing, format="html", steps="1..5")
        assert (taken.status_code, "other downloads are being made" in taken.text) == (503, True)
        answer = get(viewing, format="html", steps="5..1")
    assert answer.status_code == 422
    assert answer.json()["detail"] == "steps=5..1 is no part: step 5 is after step 1"


def test_an_export_is_refused_to_other_sites_and_of_sessions_that_are_not_there(
    viewing: tuple[RunningServer, str],
) -> None:
    server, session = viewing
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        for path in (f"sessions/{session}/export?format=jsonl", f"sketches?session={session}"):
            assert server.http.get(f"/api/{path}", headers=headers).status_code == 403
    assert server.http.get("/api/sessions/nobody/export?format=jsonl").status_code == 404
    up = server.http.get("/api/sessions/..%2F..%2Fetc%2Fpasswd/export?format=jsonl")
    assert up.status_code == 404


def test_an_export_that_nobody_waits_for_is_given_up(
    viewing: tuple[RunningServer, str], made_in: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, session = viewing
    # A process that waits for ever: its folder is there, and goes with it.
    monkeypatch.setattr("sys.executable", shutil.which("sleeps", path=str(_sleeper(tmp_path))))
    path = f"/api/sessions/{session}/export?format=jsonl"
    first, second = connect_raw(server, path), connect_raw(server, path)
    wait_for(lambda: len(list(made_in.iterdir())) == 2)
    assert get(viewing, format="jsonl").status_code == 503
    first.close()
    wait_for(lambda: len(list(made_in.iterdir())) == 1)
    second.close()
    wait_for(lambda: list(made_in.iterdir()) == [])


def _sleeper(folder: Path) -> Path:
    program = folder / "sleeps"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    return folder


# -- what a list shows beside a session ---------------------------------------------------------------------------------


def test_a_sketch_tells_how_full_the_pool_was(viewing: tuple[RunningServer, str]) -> None:
    server, session = viewing
    told = server.get("/sketches", session=[session, "nobody"])["sketches"]
    assert list(told) == [session]
    steps = server.get(f"/sessions/{session}/steps")
    rows = zip(*(steps[name] for name in ("active", "shared", "cached", "free")), strict=True)
    shares = [
        (active + shared) * 1000 // (active + shared + cached + free) for active, shared, cached, free in rows
    ]
    assert len(shares) == 300
    used = told[session]["used"]
    assert len(used) == len(told[session]["cached"]) == 96
    # Of 300 steps each is looked at, so each point is the fullest of its own.
    assert used == [max(shares[-(-at * 300 // 96) : -(-(at + 1) * 300 // 96)]) for at in range(96)]
    assert (told[session]["note"], told[session]["notes"]) == (None, 0)
    assert server.http.get("/api/sketches", params={"session": ["x"] * 51}).status_code == 422


def test_a_sketch_has_the_newest_note_and_a_session_says_when_it_is_only_read(
    recorded: tuple[Path, str], tmp_path: Path
) -> None:
    path = tmp_path / "own.db"
    shutil.copy(recorded[0], path)
    with running(path) as server:
        at = f"/api/sessions/{recorded[1]}/notes"
        for body in ({"text": "first", "step": 9}, {"text": "second", "step": 3}, {"mark": "A"}):
            assert server.http.post(at, json=body).status_code == 201
        told = server.get("/sketches", session=recorded[1])["sketches"][recorded[1]]
        assert (told["note"]["text"], told["note"]["step"], told["notes"]) == ("second", 3, 2)
        assert server.get("/health")["only_read"] is None
    with running(path, read_only=True) as server:
        assert "opened read-only" in server.get("/health")["only_read"]
    with running(path, allow_changes=False) as server:
        assert "--allow-changes" in server.get("/health")["only_read"]
