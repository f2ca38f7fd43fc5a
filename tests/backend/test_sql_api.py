"""SQL over HTTP: the same answers as the command's, within limits, and the server goes on meanwhile."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kvarium.api import sql as api
from tests.backend.hand_engine import HandEngine, record_of
from tests.backend.running_server import RunningServer, running, wait_for

FOREVER = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


@pytest.fixture(scope="module")
def viewing(
    recorded: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, str]]:
    path = tmp_path_factory.mktemp("viewing") / "recording.db"
    shutil.copy(recorded[0], path)
    with running(path, read_only=True) as server:
        yield server, recorded[1]


@pytest.fixture(autouse=True)
def _slow_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a machine is busy, the process that asks takes longer to start than a person should wait for it."""
    monkeypatch.setattr(api, "_STARTS_SECONDS", 60.0)


def post(server: RunningServer, session: str, sql: str, **more: Any) -> httpx2.Response:
    return server.http.post(f"/api/sessions/{session}/sql", json={"sql": sql} | more)


def test_rows_come_with_their_names_and_types(viewing: tuple[RunningServer, str]) -> None:
    server, session = viewing
    response = post(
        server, session, "SELECT step, time / 1e9 AS seconds, [step] AS list FROM step ORDER BY step", limit=3
    )
    assert response.status_code == 200
    told = response.json()
    steps = server.get(f"/sessions/{session}/steps")
    assert told.pop("elapsed_ms") > 0
    assert told == {
        "columns": ["step", "seconds", "list"],
        "types": ["BIGINT", "DOUBLE", "BIGINT[]"],
        "rows": [[step, steps["time"][step] / 1e9, [step]] for step in range(3)],
        "truncated": True,
    }
    assert post(server, session, "SELECT 1").json()["truncated"] is False


def test_numbers_that_json_lacks_are_told_as_text(viewing: tuple[RunningServer, str]) -> None:
    server, session = viewing
    row = post(
        server,
        session,
        "SELECT 9007199254740993, 'nan'::DOUBLE, 'inf'::FLOAT, ['-inf'::DOUBLE], 1.5::DECIMAL(4, 2), 'a'::BLOB, NULL",
    ).json()["rows"][0]
    assert row == ["9007199254740993", "NaN", "Infinity", ["-Infinity"], 1.5, "61", None]
    back = "SELECT isnan('NaN'::DOUBLE), 'Infinity'::DOUBLE = 'inf'::DOUBLE, '-Infinity'::DOUBLE < 0"
    assert post(server, session, back).json()["rows"] == [[True, True, True]]


@pytest.mark.parametrize(
    ("sql", "fault", "place"),
    [
        ("SELEC 1", "sql", (1, 1)),
        ("SELECT nothing\nFROM step", "sql", (1, 8)),
        ("SELECT * FROM read_text('/etc/passwd')", "refused", (1, 15)),
        ("ATTACH '/tmp/kvarium-x.db'", "refused", (None, None)),
        ("COPY step TO '/tmp/kvarium-x.csv'", "refused", (None, None)),
        ("SET threads = 64", "refused", (None, None)),
        ("SELECT repeat('a', 2000000000) FROM range(10)", "memory", (None, None)),
    ],
)
def test_a_query_that_fails_is_the_callers_and_says_where(
    viewing: tuple[RunningServer, str], sql: str, fault: str, place: tuple[int | None, int | None]
) -> None:
    server, session = viewing
    response = post(server, session, sql)
    assert response.status_code == 422
    told = response.json()
    assert (told["fault"], (told["line"], told["column"])) == (fault, place)
    assert "\n" not in told["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'{"sql": 1}',
        b'{"sql": ""}',
        b'{"sql": "SELECT 1", "limit": 0}',
        b'{"sql": "SELECT 1", "x": 1}',
        b"\xff",
        b'{"sql": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    ],
)
def test_a_body_that_is_no_query_is_refused(viewing: tuple[RunningServer, str], body: bytes) -> None:
    server, session = viewing
    assert server.http.post(f"/api/sessions/{session}/sql", content=body).status_code == 422


def test_an_unknown_session_is_404(viewing: tuple[RunningServer, str]) -> None:
    assert post(viewing[0], "nothing", "SELECT 1").status_code == 404


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_a_foreign_page_asks_nothing(viewing: tuple[RunningServer, str], headers: dict[str, str]) -> None:
    server, session = viewing
    path = f"/api/sessions/{session}/sql"
    assert server.http.post(path, json={"sql": "SELECT 1"}, headers=headers).status_code == 403


def test_a_long_query_ends_at_its_limit_and_nobody_waits_for_it(
    viewing: tuple[RunningServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, session = viewing
    monkeypatch.setattr(api, "SECONDS", 8.0)
    answers: list[httpx2.Response] = []
    asking = threading.Thread(target=lambda: answers.append(post(server, session, FOREVER)))
    asking.start()
    wait_for(lambda: bool(server.application.fastapi.state.sql_running))
    busy = post(server, session, "SELECT 1")
    assert busy.status_code == 429
    assert "another query" in busy.json()["detail"]
    waits = []
    while asking.is_alive():
        began = time.monotonic()
        server.get("/health")
        waits.append(time.monotonic() - began)
        time.sleep(0.05)
    asking.join()
    assert answers[0].status_code == 422
    assert answers[0].json()["fault"] == "time"
    # Who waited for it would have waited for all of its eight seconds.
    assert len(waits) > 2 and sorted(waits)[len(waits) // 2] < 4
    assert post(server, session, "SELECT 1").status_code == 200


def test_who_goes_away_ends_the_query(viewing: tuple[RunningServer, str]) -> None:
    server, session = viewing
    with pytest.raises(httpx2.ReadTimeout):
        server.http.post(
            f"/api/sessions/{session}/sql", json={"sql": FOREVER}, timeout=httpx2.Timeout(60, read=1)
        )
    wait_for(lambda: not server.application.fastapi.state.sql_running)


def test_a_live_session_is_asked_while_it_grows(
    server: RunningServer, engine: HandEngine, frames: list[bytes]
) -> None:
    session = engine.hello.session
    counts = []
    for part in (frames[:200], frames[200:]):
        engine.send(part)
        with server.watch(session) as watch:
            watch.until(partial(_is_record, record_of(part[-1])))
        counts.append(
            post(server, session, "SELECT count(*), max(record) FROM block_event").json()["rows"][0]
        )
    assert counts[0][0] < counts[1][0] and counts[0][1] <= record_of(frames[199]) < counts[1][1]


def _is_record(number: int, found: object) -> bool:
    return getattr(found, "record", None) == number


def test_the_server_does_not_load_the_database_for_it() -> None:
    program = "import kvarium.app, sys; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
