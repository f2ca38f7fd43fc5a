"""The server with the real engine beside it."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Keyframe
from tests.backend.running_server import Watch, wait_for
from tests.backend.server_process import ServerProcess, kvarium, process
from tests.plain_state import plain_state

POOL = ("--num-gpu-blocks-override", "128")


def session_of(server: ServerProcess) -> dict[str, Any]:
    with server.http() as http:
        rows: list[dict[str, Any]] = http.get("/api/sessions").json()["sessions"]
    return rows[0]


def test_a_run_to_its_end_is_recorded_and_verifies(db: Path) -> None:
    done = kvarium(
        "serve",
        "--port",
        "0",
        "--db",
        str(db),
        "--exit-with-engine",
        *POOL,
        "--steps",
        "300",
        "--step-ms",
        "0",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    checked = kvarium("verify", "--db", str(db), "--json")
    told = json.loads(checked.stdout)
    assert checked.returncode == 0, checked.stderr
    assert told["operations"] > 10_000
    row = json.loads(kvarium("sessions", "show", "--db", str(db), "--json").stdout)
    assert (row["state"], row["gaps"], row["violations"]) == ("ended", 0, 0)
    assert row["indexed_record"] == row["last_record"]


def test_a_demo_ends_by_itself(db: Path) -> None:
    done = kvarium(
        "demo", "--runner", "null", "--no-browser", "--port", "0", "--db", str(db), "--duration", "1.5"
    )
    assert done.returncode == 0, done.stderr
    url, where, linked, *summary, end = done.stdout.splitlines()
    assert "http://127.0.0.1:" in url
    assert str(db) in where
    assert re.match(r"engine linked after \d\.\d s: session \S+, null runner, 512 blocks of 16", linked)
    # How far it comes is up to the machine.
    assert any(line.split()[0] == "fill" for line in summary), "the operations by kind"
    assert end == "the engine ended"
    row = json.loads(kvarium("sessions", "show", "--db", str(db), "--json").stdout)
    assert row["state"] == "ended"
    assert row["steps"] > 0


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_an_option_that_the_engine_does_not_know_is_refused_in_its_words(db: Path, command: str) -> None:
    browser = ["--no-browser", "--runner", "null"] if command == "demo" else []
    done = kvarium(command, "--port", "0", "--db", str(db), "--no-such-option", "3", *browser)
    assert done.returncode != 0
    assert "--no-such-option" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_lets_the_engine_say_goodbye(db: Path) -> None:
    with process("serve", "--port", "0", "--db", str(db), *POOL) as server:
        server.wait_ready()
        server.wait_line("engine linked")
        wait_for(lambda: session_of(server)["steps"] > 10)
        server.interrupt()
        assert server.wait() == 0
        assert "Traceback" not in server.text
    row = json.loads(kvarium("sessions", "show", "--db", str(db), "--json").stdout)
    assert row["state"] == "ended"
    assert kvarium("verify", "--db", str(db)).returncode == 0


def test_the_server_stays_when_its_engine_has_ended(db: Path) -> None:
    with process("serve", "--port", "0", "--db", str(db), *POOL, "--steps", "20") as server:
        server.wait_ready()
        server.wait_line("the server stays")
        assert session_of(server)["state"] == "ended"
        with server.http() as http:
            assert http.get("/api/health").json()["engine"] == "ended"


_WAITS_BEFORE_IT_CONNECTS = """
import os, sys, time
if "--stand-by" in sys.orig_argv:
    def wait(event, _):
        while event == "socket.connect" and not os.path.exists({gate!r}):
            time.sleep(0.01)
    sys.addaudithook(wait)
"""


def test_the_page_can_tell_that_an_engine_starts(db: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    (tmp_path / "sitecustomize.py").write_text(_WAITS_BEFORE_IT_CONNECTS.format(gate=str(gate)))
    with process("serve", "--port", "0", "--db", str(db), *POOL, PYTHONPATH=str(tmp_path)) as server:
        server.wait_ready()
        with server.http() as http:

            def told() -> Any:
                return http.get("/api/health").json()["engine"]

            wait_for(lambda: bool(told() == "starting"))
            gate.touch()
            wait_for(lambda: bool(told() == "linked"))


def test_hold_step_and_release_steer_the_engine(db: Path) -> None:
    with process("serve", "--port", "0", "--db", str(db), *POOL) as server:
        server.wait_ready()
        server.wait_line("engine linked")
        session = session_of(server)["id"]
        with server.http() as http:

            def ask(name: str, /, **args: Any) -> Any:
                response = http.post(f"/api/sessions/{session}/commands", json={"name": name, "args": args})
                assert response.status_code == 200, response.text
                return response.json()["result"]

            # An engine that is held before its first step has no last one.
            wait_for(lambda: session_of(server)["last_step"] is not None)
            ask("hold")
            wait_for(lambda: session_of(server)["steps"] == session_of(server)["steps"])
            before = session_of(server)["last_step"]
            ask("step", steps=3)
            wait_for(lambda: session_of(server)["last_step"] == before + 3)
            ask("submit", prompt_tokens=40, max_tokens=4, name="mine")
            ask("release")
            wait_for(lambda: session_of(server)["last_step"] > before + 20)
            wait_for(
                lambda: (
                    "mine"
                    in [
                        row["name"]
                        for row in http.get(f"/api/sessions/{session}/requests").json()["requests"]
                    ]
                )
            )


def test_seeking_a_real_session_equals_folding_from_the_start(db: Path, rng: Any) -> None:
    kvarium(
        "serve",
        "--port",
        "0",
        "--db",
        str(db),
        "--exit-with-engine",
        *POOL,
        "--steps",
        "250",
        "--step-ms",
        "0",
    )
    with process("view", str(db), "--port", "0", "--no-open") as server:
        server.wait_ready()
        row = session_of(server)
        with server.http() as http:

            def frames(path: str) -> list[bytes]:
                return list(codec.unpack(http.get(f"/api/sessions/{row['id']}/{path}").content))

            everything = frames("frames?after=-1&limit_bytes=60000000")
            whole = Fold(row["num_blocks"], row["block_size"])
            states = {}
            targets = sorted(rng.sample(range(row["last_step"] + 1), 12))
            for frame in everything:
                record: Any = codec.open_frame(frame)
                assert whole.apply(record) == []
                if record.record and getattr(record, "step", None) in targets:
                    states[record.step] = plain_state(whole)
            for step in targets:
                found = frames(f"seek?step={step}&ahead_bytes=0")
                keyframe = codec.open_frame(found[0])
                assert isinstance(keyframe, Keyframe)
                fold = Fold(row["num_blocks"], row["block_size"])
                fold.load(keyframe)
                for frame in found[1:]:
                    assert fold.apply(codec.open_frame(frame)) == []  # type: ignore[arg-type]
                assert plain_state(fold) == states[step]


def test_a_viewer_follows_a_real_engine_and_stays_verified(db: Path) -> None:
    with process("serve", "--port", "0", "--db", str(db), *POOL) as server:
        server.wait_ready()
        server.wait_line("engine linked")
        row = session_of(server)
        with Watch(f"{server.url.replace('http', 'ws')}/api/sessions/{row['id']}/live") as watch:
            fold = Fold(row["num_blocks"], row["block_size"])
            fold.load(watch.until(lambda found: isinstance(found, Keyframe))[-1])  # type: ignore[arg-type]
            until = fold.step + 60
            while fold.step < until:
                message: Any = watch.next()
                if hasattr(message, "record"):
                    assert fold.apply(message) == []
            assert fold.verified


@pytest.mark.parametrize("closed", ["0<&-", "2>&-", "0<&- 2>&-"])
def test_an_engine_stands_by_and_runs_whatever_standard_files_are_closed(tmp_path: Path, closed: str) -> None:
    served = shlex.join(
        [sys.executable, "-m", "kvarium.cli", "serve", "--db", str(tmp_path / "a.db"), "--port", "0"]
    )
    engine = "--runner null --steps 3 --step-ms 0 --exit-with-engine"
    done = subprocess.run(
        f"{served} {engine} {closed}", shell=True, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 steps were made" in done.stdout
