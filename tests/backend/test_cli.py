"""The command line: what is wrong is said in one line on standard error, with an exit code that is not 0."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from kvarium import entry, launch, terminal
from kvarium.cli import app, main
from kvarium.errors import KvariumError
from kvarium.recording.database import open_for_server
from tests.backend.hand_engine import record_of
from tests.backend.server_process import KVARIUM, environment, kvarium, process, serving
from tests.own_loop import run_alone

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, which is quicker than in one of its own."""

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["kvarium", *args])
        capsys.readouterr()
        try:
            main()
            status: object = 0
        except SystemExit as ended:
            status = ended.code or 0
        told = capsys.readouterr()
        assert isinstance(status, int)
        return subprocess.CompletedProcess(args, status, told.out, told.err)

    return call


def one_line(text: str) -> str:
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("kvarium: ")
    assert "Traceback" not in text
    return lines[0]


def not_a_recording(folder: Path) -> dict[str, Path]:
    """Files that are no recordings, by what they are."""
    files = {name: folder / f"{name}.db" for name in ("text", "empty", "cut", "other", "newer")}
    files["text"].write_text("this is text\n" * 10)
    files["empty"].touch()
    files["cut"].write_bytes(b"SQLite format 3\x00" + b"\x00" * 3)
    for name in ("other", "newer"):
        connection = sqlite3.connect(files[name])
        connection.execute(
            "CREATE TABLE kvarium (key TEXT, value TEXT)" if name == "newer" else "CREATE TABLE t (a)"
        )
        if name == "newer":
            connection.execute("INSERT INTO kvarium VALUES ('format', '99')")
        connection.commit()
        connection.close()
    return files


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("text", "is no SQLite file"),
        ("empty", "it is empty"),
        ("cut", "can't read the recording"),
        ("other", "no table 'kvarium'"),
        ("newer", "format 99"),
    ],
)
@pytest.mark.parametrize("command", [("view",), ("verify", "latest", "--db"), ("sessions", "ls", "--db")])
def test_what_is_no_recording_is_refused_by_its_reason(
    run: Run, tmp_path: Path, command: tuple[str, ...], kind: str, what: str
) -> None:
    path = not_a_recording(tmp_path)[kind]
    before = path.read_bytes()
    done = run(*command, str(path))
    assert done.returncode == 1
    line = one_line(done.stderr)
    assert what in line
    assert str(path) in line
    assert done.stdout == ""
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", [("view",), ("verify", "latest", "--db"), ("sessions", "show", "--db")])
def test_a_file_that_is_not_there_is_named_and_not_made(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = tmp_path / "nothing.db"
    done = run(*command, str(path))
    assert done.returncode == 1
    assert f"there is no file {path}" in one_line(done.stderr)


@pytest.mark.parametrize(
    "command",
    [
        ("sql", "nosuch.db", "select 1"),
        ("findings", "nosuch.db"),
        ("why", "nosuch.db", "memory"),
        ("verify", "nosuch.db"),
    ],
)
def test_without_a_recording_the_file_that_was_named_is_told(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = kvarium(*command, XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert one_line(done.stderr).startswith(
        "kvarium: there is no file nosuch.db, nor a session that is called so: "
    )
    assert list(tmp_path.iterdir()) == []


def test_verify_takes_a_file_and_tells_of_one_that_is_not_there(
    tmp_path: Path, recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tmp_path / "kvarium" / "kvarium.db"
    usual.parent.mkdir()
    shutil.copy(recorded[0], usual)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["verify", str(recorded[0])])
    assert (done.exit_code, done.stdout.partition(":")[0]) == (0, "verified")
    for command in (["verify", "nosuch.db"], ["why", "nosuch.db", "memory"]):
        error = CliRunner().invoke(app, command).exception
        assert str(error).startswith("there is no file nosuch.db, and no session 'nosuch.db' in ")


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["verify", "abc"], "no session 'abc'"),
        (["sessions", "show", "zzz"], "`kvarium sessions ls --db {db}` lists them"),
        (["sessions", "show", ""], "no session ''"),
    ],
)
def test_an_unknown_session_is_named(
    run: Run, recorded: tuple[Path, str], args: list[str], what: str
) -> None:
    done = run(*args, "--db", str(recorded[0]))
    assert done.returncode == 1
    assert what.format(db=recorded[0]) in one_line(done.stderr)


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["view", "a.db", "--port", "abc"], "'--port': Input should be a valid integer"),
        (["view", "a.db", "--port", "99999999"], "'--port': Input should be less than or equal to 65535"),
        (["demo", "--duration", "-1"], "'--duration': Input should be greater than or equal to 0.1"),
        (["demo", "--duration", "nan"], "'--duration': Input should be a finite number"),
        (
            ["sql", "latest", "SELECT 1", "--time-limit", "nan"],
            "'--time-limit': Input should be a finite number",
        ),
        (["serve", "--keep-days", "soon\x1b[2J"], "'--keep-days': Input should be a valid number"),
    ],
)
def test_a_value_that_is_none_for_its_option_is_repeated(run: Run, args: list[str], what: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"Error: Invalid value for {what}")
    assert line.endswith(f", not '{terminal.shown(args[-1])}'")


def test_a_taken_port_is_named_with_what_to_do(run: Run, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("serve", "--no-engine", "--port", str(port), "--db", str(tmp_path / "a.db"))
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is taken" in one_line(done.stderr)
    assert "--port" in done.stderr


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["--db", "{folder}"], "is a directory"),
        (["--db", "{folder}/no/such/folder/a.db"], "there is no directory"),
        (["--db", "mysql://localhost/x"], "SQLite files and PostgreSQL"),
        (["--db", "postgresql://nobody@127.0.0.1:1/x"], "127.0.0.1"),
        (["--db", "/proc/recording.db"], "can't lock the recording /proc/recording.db"),
        (["--host", "256.1.1.1"], "--host 256.1.1.1"),
        (["--host", "192.0.2.1", "--db", "{folder}/a.db"], "can't listen on 192.0.2.1"),
        (["--num-gpu-blocks-override", "7"], "--no-engine starts none"),
    ],
)
def test_a_server_that_can_not_start_says_why(run: Run, tmp_path: Path, args: list[str], what: str) -> None:
    given = [arg.format(folder=tmp_path) for arg in args]
    if "--db" not in given:
        given += ["--db", str(tmp_path / "a.db")]
    done = run("serve", "--no-engine", "--port", "0", *given)
    assert done.returncode != 0
    assert what in one_line(done.stderr)


@pytest.mark.parametrize("args", [["serve", "--port", "99999"], ["view"], ["verify", "a", "b"], ["nothing"]])
def test_wrong_usage_is_2_and_says_what(run: Run, args: list[str]) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (
            ["serve", "--no-engine", "--runner", "null"],
            "--runner null: options of an engine, but --no-engine",
        ),
        (["serve", "--no-engine", "--exit-with-engine"], "--exit-with-engine: options of an engine, but"),
        (
            ["demo", "--runner", "null", "--model", "m"],
            "--model m belongs to --runner torch, but --runner null",
        ),
        (
            ["export", "--from-step", "5", "--to-step", "1", "--format", "html"],
            "--from-step 5 is after --to-step 1",
        ),
        (
            ["export", "--from-step", "3", "--format", "jsonl"],
            "--from-step and --to-step take a part with --format",
        ),
        (["export", "--strip-notes"], "--strip-notes belongs to --strip-text none or hash"),
        (["replay", "--serve", "--token", "x"], "--token is for --connect: leave it out"),
        (["replay", "--connect", "ws://h/", "--port", "8642"], "--port is for --serve: leave it out"),
        (["replay", "--connect", "ws://h/", "--host", "127.0.0.1"], "--host is for --serve: leave it out"),
        (["replay", "--connect", "ws://h/", "--no-browser"], "--browser is for --serve: leave it out"),
        (
            ["replay", "--connect", "ws://h/", "--allowed-host", "x"],
            "--allowed-host is for --serve: leave it",
        ),
        (
            ["sessions", "note", "latest", "text", "--remove", "3"],
            "--remove takes away a note: it goes with no",
        ),
        (["engine", "--speed", "2", "--duration", "0.1"], "--speed 2 is of a --trace: give one with it"),
        (
            ["engine", "--name", "x", "--duration", "0.1"],
            "--name is of what a backend records and shows: give",
        ),
        (
            ["engine", "--lossless", "--duration", "0.1"],
            "--lossless/--no-lossless is of what a backend records",
        ),
        (
            ["engine", "--record-text", "none", "--duration", "0.1"],
            "--record-text is of what a backend records",
        ),
        (
            ["engine", "--no-allow-control", "--duration", "0.1"],
            "--allow-control/--no-allow-control is of what",
        ),
    ],
)
def test_an_option_that_does_nothing_without_another_is_wrong_usage(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], what: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    done = run(*args)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert what in line
    assert done.stdout == ""


def test_an_engine_that_nobody_records_says_so_at_its_start() -> None:
    done = kvarium("engine", "--steps", "2", "--json")
    assert done.returncode == 0
    assert done.stderr == (
        "kvarium engine: nothing is recorded without --connect; `kvarium serve` records an engine and shows it\n"
    )
    assert json.loads(done.stdout)["steps"] == 2


@pytest.mark.parametrize(
    ("command", "args", "what"),
    [
        ("serve", ["--speed", "2"], "--speed 2 is of a --trace"),
        ("serve", ["--bogus"], "No such option: --bogus"),
        ("serve", ["something"], "something"),
        ("serve", ["--max-num-seqs", "x"], "'--max-num-seqs'"),
        (
            "serve",
            ["--max-num-batched-tokens", str(10**20)],
            f"--max-num-batched-tokens must be at most {2**31 - 1}",
        ),
        ("serve", ["--seed", str(10**26)], f"--seed must be at most {2**53 - 1}, not {10**26}"),
        ("serve", ["--num-gpu-blocks-override", str(10**14)], "--num-gpu-blocks-override must be at most"),
        ("serve", ["--max-model-len", "0"], "--max-model-len must be at least 1, not 0"),
        ("serve", ["--speed", "inf"], "--speed"),
        ("serve", ["--connect", "ws://127.0.0.1:1/api/engine"], "--connect is the server's own"),
        ("serve", ["--connect=x"], "--connect is the server's own"),
        ("serve", ["--trace", "/no/such/trace"], "the trace /no/such/trace can't be read"),
        ("serve", ["--trace", "{folder}/bad.jsonl"], "line 2"),
        # The same code checks them for both.
        ("demo", ["--speed", "2"], "--speed 2 is of a --trace"),
        ("demo", ["--connect", "ws://127.0.0.1:1/api/engine"], "--connect is the server's own"),
    ],
)
def test_the_engines_options_are_checked_before_anything_is_made(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    args: list[str],
    what: str,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    good = '{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [1]}\n'
    (tmp_path / "bad.jsonl").write_text(good + "no json\n")
    runner = ["--runner", "null"] if command == "demo" else []
    done = run(command, "--port", "0", *runner, *(arg.format(folder=tmp_path) for arg in args))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"kvarium {command}: ")
    assert done.stderr.count("\n") == 1
    assert what in done.stderr
    assert [found.name for found in tmp_path.iterdir()] == ["bad.jsonl"]


def test_a_locked_recording_says_so(run: Run, tmp_path: Path, recorded: tuple[Path, str]) -> None:
    path = tmp_path / "locked.db"
    shutil.copy(recorded[0], path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        done = run("serve", "--no-engine", "--port", "0", "--db", str(path))
    finally:
        other.close()
    assert done.returncode == 1
    assert "database is locked" in one_line(done.stderr)


def test_a_second_server_of_one_recording_is_refused(db: Path) -> None:
    with serving(db):
        done = kvarium("serve", "--no-engine", "--port", "0", "--db", str(db))
        assert done.returncode == 1
        assert "another kvarium server" in one_line(done.stderr)
    with serving(db):
        pass


@pytest.mark.parametrize("how", ["hard", "symbolic"])
def test_a_second_server_by_another_name_of_the_recording_is_refused(run: Run, db: Path, how: str) -> None:
    other = db.with_name("other.db")
    with serving(db):
        if how == "hard":
            other.hardlink_to(db)
            what = f"{other} has 2 names (hard links): written by one, it would be damaged for who opens it by another"
        else:
            other.symlink_to(db)
            what = f"writes {db}: stop it, or give another --db"
        done = run("serve", "--no-engine", "--port", "0", "--db", str(other))
        assert done.returncode == 1
        assert what in one_line(done.stderr)
        assert sorted(found.name for found in db.parent.glob("*.lock")) == [f"{db.name}.lock"]


def test_a_lock_is_given_up_when_the_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("no database")
    for _ in range(2):
        with pytest.raises(KvariumError, match="no SQLite file"):
            open_for_server(str(path))
    assert list(tmp_path.iterdir()) == [path]


def test_sessions_are_listed_and_shown(run: Run, recorded: tuple[Path, str], frames: list[bytes]) -> None:
    path, session = recorded
    listed = run("sessions", "ls", "--db", str(path))
    assert session in listed.stdout
    assert "ended" in listed.stdout
    told = json.loads(run("sessions", "ls", "--db", str(path), "--json").stdout)
    assert [row["id"] for row in told["sessions"]] == [session]
    for name in (session, session[:6], "latest"):
        shown = json.loads(run("sessions", "show", name, "--db", str(path), "--json").stdout)
        assert (shown["id"], shown["last_record"]) == (session, record_of(frames[-1]))
        assert shown["hello"]["num_blocks"] == 24


def test_verify_prints_its_figures_and_nothing_else(recorded: tuple[Path, str], frames: list[bytes]) -> None:
    done = kvarium("verify", "latest", "--db", str(recorded[0]), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert list(told) == ["records", "operations", "digest_mismatches", "violations", "gaps"]
    assert told == {
        "records": len(frames),
        "operations": told["operations"],
        "digest_mismatches": 0,
        "violations": 0,
        "gaps": 0,
    }


def test_reading_commands_leave_nothing_beside_the_file(tmp_path: Path, recorded: tuple[Path, str]) -> None:
    path = tmp_path / "copy.db"
    shutil.copy(recorded[0], path)
    before = path.read_bytes()
    kvarium("sessions", "ls", "--db", str(path))
    kvarium("verify", "--db", str(path))
    with process("view", str(path), "--port", "0", "--no-open") as viewing:
        viewing.wait_ready()
        with viewing.http() as http:
            assert http.get(f"/api/sessions/{recorded[1]}/steps").status_code == 200
        assert f"?session={recorded[1]}" in viewing.text
        viewing.interrupt()
        assert viewing.wait() == 0
    assert [found.name for found in tmp_path.iterdir()] == ["copy.db"]
    assert path.read_bytes() == before


def test_help_says_what_each_command_does(run: Run) -> None:
    top = run("--help").stdout
    for name in ("serve", "view", "verify", "sessions", "demo", "engine"):
        assert name in top
        assert run(name, "--help").returncode == 0
    assert run("--version").stdout.startswith("kvarium ")


def test_an_engine_that_hands_over_its_records_is_waited_for_and_can_be_hurried() -> None:
    """It drains for as long as its backend gets on; a second Ctrl-C ends it at once."""
    assert launch._STOP_SECONDS >= 60
    slow = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: signal.signal(signal.SIGTERM, lambda *_: sys.exit(130)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )

    async def stopped() -> int:
        engine = launch.EngineProcess("ws://127.0.0.1:1/api/engine", "t", [])
        process = engine._process = subprocess.Popen(
            [sys.executable, "-c", slow], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process.stdout as told:
            told.readline()
        engine.hurry()  # it is not being stopped: nothing happens
        stopping = asyncio.create_task(engine.stop())
        await asyncio.sleep(0.3)
        assert not stopping.done()
        engine.hurry()
        await asyncio.wait_for(stopping, 60)
        return await engine.wait()

    assert run_alone(stopped()) == 130


@pytest.mark.parametrize(
    "args",
    [
        ["verify", "latest", "--db", "pipe"],
        ["sessions", "import", "pipe", "--db", "other.db"],
        ["view", "pipe"],
        ["serve", "--no-engine", "--db", "pipe"],
    ],
)
def test_a_pipe_is_no_recording_and_is_not_opened(tmp_path: Path, args: list[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run(
        [sys.executable, "-m", "kvarium.cli", *args], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith("kvarium: pipe is not a regular file")
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_name_longer_than_any_is_one_short_line() -> None:
    done = kvarium("verify", "latest", "--db", "x" * 5000)
    assert done.returncode == 1
    assert done.stderr.startswith("kvarium: File name too long: 'xxx")
    assert len(done.stderr) < 300


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
@pytest.mark.parametrize("args", [["--version"], ["--help"], ["engine", "--steps", "2", "--json"]])
def test_an_output_without_room_is_told_in_one_line(args: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kvarium.cli", *args], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 74
    assert re.fullmatch(r"kvarium( engine)?: No space left on device", done.stderr.splitlines()[-1])
    assert "Traceback" not in done.stderr


def test_ctrl_c_while_modules_are_imported_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "kvarium.cli", Interrupted("kvarium.cli"))
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 130


@pytest.mark.parametrize("command", ["serve", "view", "demo"])
@pytest.mark.parametrize("option", ["--no-browser", "--browser", "--no-open", "--open"])
def test_whether_a_browser_opens_is_said_in_the_same_words_everywhere(command: str, option: str) -> None:
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    file = ["some.db"] if command == "view" else []
    params = found.make_context(command, [option, *file]).params
    assert params["browser"] is ("no-" not in option)


def test_a_server_whose_lines_nobody_reads_any_more_ends_like_any_other(tmp_path: Path) -> None:
    """Its farewell goes into a closed pipe."""
    command = [*KVARIUM, "serve", "--no-engine", "--port", "0", "--db", str(tmp_path / "unread.db")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.stdout.close()
    process.send_signal(signal.SIGTERM)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "Traceback" not in errors
    assert process.returncode in (0, 120), "120: the interpreter could not write its last line either"
