"""``kvarium ctl`` and what it asks: the real engine held, run to a step, stopped and told; what can't be is one line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from kvarium import control_command
from kvarium.cli import app
from kvarium.errors import KvariumError
from kvarium_engine import control
from kvarium_ledger import codec
from kvarium_ledger.messages import Answer, Breakpoint, Health
from kvarium_ledger.records import Control, Hit, Note
from tests.backend.hand_engine import HandEngine, hand_frames, hello, record_of
from tests.backend.running_server import RunningServer, wait_for
from tests.backend.server_process import ServerProcess, process


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    db = tmp_path_factory.mktemp("control") / "recording.db"
    options = ("--num-gpu-blocks-override", "128", "--step-ms", "5", "--allow-control")
    with process("serve", "--port", "0", "--db", str(db), *options) as server:
        server.wait_ready().wait_line("engine linked")
        yield server


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def kvarium(*args: str) -> Done:
    """The command line in this process, and what its entry point makes of an error: starting one takes a second each."""
    done = CliRunner().invoke(app, args)
    error = done.exception
    if error is None or isinstance(error, SystemExit):
        return Done(done.exit_code, done.stdout, done.stderr)
    assert isinstance(error, KvariumError), error
    return Done(error.exit_code, done.stdout, f"kvarium: {error}\n")


def ctl(server: ServerProcess, *args: str) -> Any:
    """What is answered, as JSON."""
    done = kvarium("ctl", "latest", *args, "--server", server.url, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(server: ServerProcess) -> Any:
    with server.http() as http:
        session = http.get("/api/sessions").json()["sessions"][0]["id"]
        return http.get(f"/api/sessions/{session}/control").json()


def test_it_is_held_run_to_a_step_and_stopped_and_all_of_it_is_recorded(running: ServerProcess) -> None:
    wait_for(lambda: (told(running).get("step") or 0) > 3)
    at = ctl(running, "hold")["step"]
    state = told(running)
    assert (state["held"], state["run_to"], state["stop"], state["breakpoints"]) == (True, None, None, [])
    assert ctl(running, "run-to", str(at + 4)) == {"held": True, "run_to": at + 4, "step": at}
    wait_for(lambda: told(running)["step"] == at + 4 and told(running)["run_to"] is None)
    one = kvarium("ctl", "latest", "step", "--server", running.url).stdout
    assert one == f"takes step {at + 5}, and is held behind it\n"
    wait_for(lambda: told(running)["step"] == at + 5)
    two = kvarium("ctl", "latest", "step", "2", "--server", running.url).stdout
    assert two == f"takes steps {at + 6} to {at + 7}, and is held behind them\n"
    wait_for(lambda: told(running)["step"] == at + 7)
    at += 3
    passed = kvarium("ctl", "latest", "run-to", str(at), "--server", running.url)
    assert (passed.returncode, passed.stdout) == (1, "")
    assert passed.stderr == f"kvarium: step {at} has passed: the engine is at step {at + 4}\n"
    assert ctl(running, "slow", "2000")["rate"] == 2000
    assert ctl(running, "break", f"step:{at + 7}") == {"breakpoint": 1, "step": at + 4}
    assert ctl(running, "break", "op:fill", "--mark", "--hits", "2")["breakpoint"] == 2
    ctl(running, "release")
    wait_for(lambda: told(running)["stop"] is not None)
    state = told(running)
    assert (state["held"], state["slow"], state["stop"]["step"], state["stop"]["breakpoint"]) == (
        True,
        2000,
        at + 7,
        1,
    )
    assert [each["count"] >= 1 for each in state["breakpoints"]] == [True, True]
    listed = kvarium("ctl", "latest", "breaks", "--server", running.url).stdout
    assert f"stopped by breakpoint 1 at step {at + 7}, at most 2000 steps a second\n" in listed
    assert re.search("^ *2 +mark +on +[0-9,]+×, from 2 on +step ", listed, re.MULTILINE)
    # The columns are as wide as their longest entry, which depends on how often the other was met.
    assert ["1", "stop", "on", "1×", "step", str(at + 7), f"step:{at + 7}"] in [
        line.split() for line in listed.splitlines()
    ]
    assert ctl(running, "disable", "2")["enabled"] is False
    assert ctl(running, "unbreak", "1")["breakpoint"] == 1
    assert [each["enabled"] for each in ctl(running, "breaks")["breakpoints"]] == [False]
    assert ctl(running, "slow", "off")["rate"] is None
    with running.http() as http:
        session = http.get("/api/sessions").json()["sessions"][0]["id"]
        wait_for(lambda: len(_records(http, session, Note)) >= 1 and _holds(http, session))
        assert [each.args for each in _holds(http, session)] == [{"breakpoint": 1, "step": at + 7}]
        names = [each.name for each in _records(http, session, Control)]
        assert names[:5] == ["hold", "run_to", "step", "step", "run_to"]

        def is_marked() -> bool:
            """The index is behind the records."""
            landmarks = http.get(f"/api/sessions/{session}/landmarks").json()["landmarks"]
            notes = [(each["step"], each["message"]) for each in landmarks if each["kind"] == "note"]
            return (at + 7, f"breakpoint 1: step:{at + 7}") in notes

        wait_for(is_marked)


def _records(http: Any, session: str, kind: Any) -> list[Any]:
    frames = codec.unpack(http.get(f"/api/sessions/{session}/frames?after=-1").content)
    return [found for frame in frames if isinstance(found := codec.open_frame(frame), kind)]


def _holds(http: Any, session: str) -> list[Control]:
    return [each for each in _records(http, session, Control) if each.asked_by.startswith("breakpoint")]


def test_a_predicate_that_can_not_be_read_is_shown_with_a_mark_below_it(running: ServerProcess) -> None:
    done = kvarium("ctl", "latest", "break", "op:evcit owner:r17", "--server", running.url)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "kvarium: the predicate can't be read at character 4: there is no operation 'evcit'; did you mean evict?\n"
        "  op:evcit owner:r17\n"
        "     ^^^^^\n"
    )
    with running.http() as http:
        fault = http.get("/api/predicate", params={"when": "op:evcit"}).json()["fault"]
        assert (fault["at"], fault["end"], fault["why"], fault["nearest"]) == (3, 8, "name", "evict")
        assert fault["message"] == "there is no operation 'evcit'; did you mean evict?", "the place is in at"
        deep = http.get("/api/predicate", params={"when": "(" * 1990}).json()["fault"]
        assert (deep["at"], deep["end"], deep["why"]) == (32, 33, "deep")
        assert http.get("/api/predicate", params={"when": "op:evict or usage>90%"}).json() == {"fault": None}
        session = http.get("/api/sessions").json()["sessions"][0]["id"]
        body = {"name": "break", "args": {"when": "usage"}}
        refused = http.post(f"/api/sessions/{session}/commands", json=body)
        assert (refused.status_code, refused.json()["detail"]) == (
            422,
            "the predicate can't be read at character 1: usage is compared: usage>0.9",
        )
        body = {"name": "break", "args": {"when": "-(" * 400 + "op:evict" + ")" * 400}}
        refused = http.post(f"/api/sessions/{session}/commands", json=body)
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("the predicate can't be read at character 66: ")


@pytest.mark.parametrize(
    ("status", "args", "message"),
    [
        (2, ("latest", "hold", "--server", "ftp://x"), "'ftp://x' is no server's address"),
        (
            1,
            ("latest", "hold", "--server", "http://127.0.0.1:9"),
            "no kvarium server answers at http://127.0.0.1:9: ",
        ),
        *(
            (2, ("latest", "slow", rate), f"{rate!r} is no number of steps a second: 0.5, 2, or off")
            for rate in ("fast", "nan", "inf", "1e309", "0")
        ),
        (
            2,
            ("hold", "latest"),
            "'hold' is a command, and the session comes before it: kvarium ctl latest hold …",
        ),
    ],
)
def test_what_can_not_be_asked_is_one_line(status: int, args: tuple[str, ...], message: str) -> None:
    done = kvarium("ctl", *args)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("kvarium: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("step", "9" * 20), "Invalid value for "),
        (("run-to", "9" * 20), "Invalid value for "),
        (("break", "op:evict", "--hits", "9" * 20), "Invalid value for "),
        (("break", ""), "a condition is missing"),
        (("break", "(" * 1500), "its parentheses stand too deep in each other"),
    ],
)
def test_a_wrong_use_is_told_without_a_server_and_ends_with_2(args: tuple[str, ...], message: str) -> None:
    assert (control_command.MOST_STEPS, control_command.MOST_STEP) == (control.MOST_STEPS, control.MOST_STEP)
    done = kvarium("ctl", "latest", *args, "--server", "http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())


def test_without_an_engine_or_its_leave_the_reason_is_told(server: RunningServer) -> None:
    url = f"http://127.0.0.1:{server.port}"
    done = kvarium("ctl", "latest", "hold", "--server", url)
    assert done.stderr == f"kvarium: no engine is connected to {url}\n"
    with server.engine(hello(allow_control=False)) as engine:
        for args in (("hold",), ("break", "op:evict"), ("slow", "2")):
            done = kvarium("ctl", "latest", *args, "--server", url)
            assert done.returncode == 1
            assert (
                done.stderr == f"kvarium: this engine does not allow control ({args[0]}): it was started so\n"
            )
        done = kvarium("ctl", "x" * 8, "hold", "--server", url)
        assert done.stderr == f"kvarium: no session 'xxxxxxxx' at {url}\n"
        session = engine.hello.session
    wait_for(lambda: server.http.get(f"/api/sessions/{session}/control").status_code == 409)


def test_how_an_engine_goes_is_what_it_said_last(server: RunningServer, engine: HandEngine) -> None:
    path = f"/sessions/{engine.hello.session}/control"
    assert server.get(path)["breakpoints"] == []
    hit = Hit(breakpoint=3, step=7, count=2, stops=True, index=4, op=90, block=5, request=1)
    found = Breakpoint(id=3, when="op:evict", hits=2, count=2, last=hit)
    engine.send([codec.seal(Health(time=5, held=True, slow=0.5, stop=hit, breakpoints=[found]))])
    wait_for(lambda: server.get(path)["held"])
    state = server.get(path)
    assert (state["allowed"], state["slow"], state["run_to"]) == (True, 0.5, None)
    assert state["stop"]["index"] == 4
    assert state["breakpoints"] == [
        {
            "id": 3,
            "when": "op:evict",
            "hits": 2,
            "mark": False,
            "enabled": True,
            "count": 2,
            "last": state["stop"],
        }
    ]
    engine.answer = lambda command: Answer(id=command.id, result={"breakpoint": 4, "step": 1})
    body = {"name": "break", "args": {"when": "op:evict", "mark": True}}
    assert server.http.post(f"/api{path.removesuffix('/control')}/commands", json=body).status_code == 200


def test_what_is_set_is_read_from_the_recording_and_set_again(running: ServerProcess) -> None:
    before = {each["id"] for each in ctl(running, "breaks")["breakpoints"]}
    kept = ctl(running, "break", "step:1000000", "--mark", "--hits", "3")["breakpoint"]
    off = ctl(running, "break", "op:copy cause:reset")["breakpoint"]
    gone = ctl(running, "break", "op:copy block:7#9999")["breakpoint"]
    ctl(running, "disable", str(off))
    ctl(running, "unbreak", str(gone))
    for each in before:
        ctl(running, "unbreak", str(each))
    with running.http() as http:
        session = http.get("/api/sessions").json()["sessions"][0]["id"]

        def recorded() -> list[tuple[object, ...]]:
            told = http.get(f"/api/sessions/{session}/breakpoints").json()["breakpoints"]
            names = ("id", "when", "hits", "mark", "enabled")
            return [tuple(each[name] for name in names) for each in told]

        wait_for(
            lambda: (
                recorded()
                == [(kept, "step:1000000", 3, True, True), (off, "op:copy cause:reset", 1, False, False)]
            )
        )
        done = kvarium("ctl", "latest", "break-again", session[:12], "--server", running.url)
        assert done.stdout.splitlines() == [
            f"breakpoint {kept} was set already, as {kept} was: step:1000000",
            f"breakpoint {off} was set already, as {off} was: op:copy cause:reset",
        ]
        assert [(each["id"], each["enabled"]) for each in ctl(running, "breaks")["breakpoints"]] == [
            (kept, True),
            (off, False),
        ]
        again = ("ctl", "latest", "break", "op:copy cause:reset", "--server", running.url)
        assert kvarium(*again).stdout.startswith(
            f"breakpoint {off} was set already, and is looked at after step "
        )
        wait_for(
            lambda: (
                recorded()
                == [(kept, "step:1000000", 3, True, True), (off, "op:copy cause:reset", 1, False, True)]
            )
        )


def test_what_was_set_is_there_when_the_engine_is_gone(server: RunningServer) -> None:
    url = f"http://127.0.0.1:{server.port}"
    asked: dict[str, Any] = {"time": 5, "id": "1", "asked_by": "somebody"}
    args: dict[str, Any] = {"when": "op:evict", "hits": 2, "breakpoint": 1}
    frames = hand_frames(2)
    at = record_of(frames[-1]) + 1
    with server.engine(hello()) as engine:
        records = [
            Control(record=at, name="break", args=args, **asked),
            Control(
                record=at + 1,
                name="break",
                args=args | {"breakpoint": 2, "when_length": 5, "when": None},
                **asked,
            ),
            Control(
                record=at + 2, name="break", args={"when": "op:evcit"}, error="no such operation", **asked
            ),
            Note(
                record=at + 3, time=6, text="breakpoint 1: op:evict", hit=Hit(breakpoint=1, step=0, count=4)
            ),
        ]
        engine.send([*frames, *(codec.seal(record) for record in records)])
        engine.wait_acked(at + 3)
        engine.bye()
        session = engine.hello.session
    path = f"/sessions/{session}/breakpoints"
    first, second = server.get(path)["breakpoints"]
    assert first == {
        "id": 1,
        "when": "op:evict",
        "hits": 2,
        "mark": False,
        "enabled": True,
        "count": 4,
        "last": {"breakpoint": 1, "step": 0, "count": 4},
        "asked_by": "somebody",
    }
    assert (second["id"], second["when"], second["count"]) == (2, None, 0)
    wait_for(lambda: server.http.get(f"/api/sessions/{session}/control").status_code == 409)
    lines = kvarium("ctl", session, "breaks", "--server", url).stdout.splitlines()
    assert lines[0] == "no engine is linked; recorded: 2 breakpoints were set"
    assert [line.split()[0] for line in lines[-2:]] == ["1", "2"]
    assert lines[-1].endswith("not recorded")
    with server.engine(hello()) as engine:
        engine.answer = lambda command: Answer(id=command.id, result={"breakpoint": 8, "step": 0})
        done = kvarium("ctl", engine.hello.session, "break-again", session, "--server", url)
        assert done.stdout.splitlines() == [
            "breakpoint 8 is set, as 1 was: op:evict",
            "breakpoint 2 is not set: its predicate is not recorded, as text is not",
        ]


def test_an_unknown_session_has_no_control(server: RunningServer, tmp_path: Path) -> None:
    for what in ("control", "breakpoints"):
        assert server.http.get(f"/api/sessions/nobody/{what}").status_code == 404
