"""Scenarios that a page starts: one at a time on an engine of its own, recorded as any other; and what is refused."""

from pathlib import Path
from typing import Any

from kvarium.recording.database import open_for_reading
from kvarium.recording.notes import read_landmarks
from kvarium.recording.reader import Reader
from tests.backend.running_server import wait_for
from tests.backend.server_process import ServerProcess, process


def told(server: ServerProcess) -> Any:
    with server.http() as client:
        answer = client.get("/api/scenarios")
        assert answer.status_code == 200, answer.text
        return answer.json()


def start(server: ServerProcess, body: Any) -> tuple[int, Any]:
    with server.http() as client:
        answer = client.post("/api/scenarios", json=body)
        found = answer.json()
        return answer.status_code, found.get("detail", found)


def session(server: ServerProcess, wanted: str) -> dict[str, Any]:
    with server.http() as client:
        sessions: list[dict[str, Any]] = client.get("/api/sessions").json()["sessions"]
    return next(each for each in sessions if each["id"] == wanted)


def test_a_scenario_is_started_recorded_and_over_one_at_a_time_and_ends_with_the_server(
    tmp_path: Path,
) -> None:
    db = tmp_path / "s.db"
    with process("serve", "--no-engine", "--port", "0", "--db", str(db)) as server:
        server.wait_ready()
        assert told(server)["why_not"] is None
        assert told(server)["running"] is None
        assert "block-table" in told(server)["scenarios"]
        assert start(server, {"name": "block-tabel"}) == (
            404,
            "there is no scenario 'block-tabel': did you mean block-table?",
        )
        assert start(server, {"nam": "block-table"})[0] == 422

        status, first = start(server, {"name": "block-table"})
        assert (status, first["name"]) == (201, "block-table")
        wait_for(lambda: told(server)["running"] is None, 120)
        wait_for(lambda: session(server, first["session"])["state"] == "ended", 60)
        assert session(server, first["session"])["name"] == "A block table, read back whole"

        # Its thousand steps take longer than what is asked meanwhile.
        status, second = start(server, {"name": "lazy-allocation"})
        assert status == 201
        assert start(server, {"name": "preemption"}) == (
            409,
            "the scenario lazy-allocation runs: one at a time",
        )
        assert told(server)["running"] == {"name": "lazy-allocation", "session": second["session"]}
        server.interrupt()
        assert server.wait() == 0, server.text

    database = open_for_reading(str(db))
    try:
        reader = Reader(database)
        notes = read_landmarks(reader, reader.find(first["session"]), ["note"])
        assert [each["message"].split(":")[0] for each in notes] == ["block-table 1/2", "block-table 2/2"]
        assert [each["step"] for each in notes] == [3, 4]
        assert reader.session(reader.find(second["session"]))["state"] == "ended"
    finally:
        database.close()
    with process("view", str(db), "--port", "0", "--no-browser") as viewer:
        viewer.wait_ready()
        assert told(viewer)["why_not"] == "this server takes no engines"
        assert start(viewer, {"name": "block-table"})[0] == 409
