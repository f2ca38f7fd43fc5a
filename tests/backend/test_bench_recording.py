"""The recordings that benches are made on: made once, whole, kept within a bound; and `kvarium bench` as a group that others join."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvarium.bench import recording as recordings
from kvarium.bench.recording import KEPT, cache_folder, recording
from kvarium.errors import KvariumError
from kvarium.recording.database import open_for_reading, writable_sqlite
from kvarium.recording.reader import Reader
from tests.backend.running_server import wait_for
from tests.backend.server_process import kvarium

OPTIONS = ("--num-gpu-blocks-override", "64", "--max-num-seqs", "8")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVARIUM_CACHE", str(tmp_path))


def test_a_recording_is_made_once_and_is_whole() -> None:
    path = recording(40, OPTIONS)
    database = open_for_reading(str(path))
    row = Reader(database).sessions()[0]
    database.close()
    assert (row["state"], row["violations"], row["gaps"], row["lost"]) == ("ended", 0, 0, 0)
    assert row["steps"] >= 40 and row["num_blocks"] == 64 and row["runner"] == "null"
    before = path.stat().st_ino
    assert recording(40, OPTIONS) == path and path.stat().st_ino == before
    assert [found.name for found in cache_folder().iterdir() if found.name != "lock"] == [path.name]


def test_other_steps_options_and_sources_are_other_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def make(path: Path, steps: int, options: object) -> None:
        path.write_text("")
        made.append(path)

    monkeypatch.setattr(recordings, "_make", make)
    found = {recording(1, OPTIONS), recording(2, OPTIONS), recording(1, (*OPTIONS, "--seed", "1"))}
    assert recording(1, OPTIONS) in found and len(made) == 3
    monkeypatch.setattr(recordings, "_sources", lambda: "changed")
    assert recording(1, OPTIONS) not in found


def test_the_recordings_that_were_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "_make", lambda path, steps, options: path.write_text(""))
    paths = [recording(steps, OPTIONS) for steps in range(1, KEPT + 1)]
    for age, path in enumerate(reversed(paths), 1):
        os.utime(path, (time.time() - age, time.time() - age))
    recording(1, OPTIONS)
    recording(KEPT + 1, OPTIONS)
    assert [path.exists() for path in paths] == [True, False] + [True] * (KEPT - 2)


def test_one_that_fails_says_why_and_leaves_nothing() -> None:
    with pytest.raises(
        KvariumError, match=r"the recording was not made: .*status 2: .*--max-num-seqs must be at"
    ):
        recording(5, ("--max-num-seqs", "0"))
    assert [path.name for path in cache_folder().iterdir()] == ["lock"]


def test_a_cache_that_can_not_be_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KVARIUM_CACHE", str(tmp_path / "file"))
    with pytest.raises(KvariumError, match=r"can't make the folder .*say where with KVARIUM_CACHE"):
        recording(5, OPTIONS)


def test_ctrl_c_ends_its_server_and_leaves_nothing() -> None:
    # An engine that is as fast as can be would have much to hand over before it ends.
    options = (*OPTIONS, "--step-ms", "20")
    code = f"from kvarium.bench.recording import recording; recording(10**9, {options!r})"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as process:
        try:
            wait_for(lambda: any(cache_folder().glob("making-*/kvarium.db")))
        finally:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert [path.name for path in cache_folder().iterdir()] == ["lock"]


def test_benches_of_the_engine_join_those_of_the_server() -> None:
    listed = kvarium("bench", "--help")
    assert listed.returncode == 0
    for name in ("block-size", "cache", "sharing", "waste"):
        assert f"  {name} " in listed.stdout


def test_benches_that_can_not_be_loaded_are_listed_and_say_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "kvarium_engine").mkdir()
    (tmp_path / "kvarium_engine" / "__init__.py").write_text("raise ImportError('there is no engine')")
    listed = kvarium("bench", "--help", PYTHONPATH=str(tmp_path), COLUMNS="200")
    assert listed.returncode == 0, listed.stderr
    assert "sharing" in listed.stdout and "(not installed: there is no engine" in listed.stdout
    asked = kvarium("bench", "sharing", PYTHONPATH=str(tmp_path))
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr == (
        "kvarium: `kvarium bench sharing` can't be loaded (there is no engine): "
        "pip install 'kvarium[engine]' brings what it needs\n"
    )


def test_a_log_that_a_look_at_the_file_left_behind_is_put_away(tmp_path: Path) -> None:
    path = tmp_path / "kvarium.db"
    writer = writable_sqlite(path)
    reader = open_for_reading(str(path))
    with reader.engine.connect() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM session").all()
        writer.close()
    reader.close()
    log = tmp_path / "kvarium.db-wal"
    assert log.exists()
    recordings._settle(path)
    assert not log.exists()
