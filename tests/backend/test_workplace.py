"""Folders for what is being made: none outlives its process for long, and none is taken from a process that has it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvarium.exchange.output import UNFINISHED, written
from kvarium.recording.imports import Imports
from kvarium.workplace import Workplace, remove_abandoned, workplace

PREFIX = ".making-"
MAKING = """
import sys, time
from pathlib import Path
from kvarium.workplace import workplace
with workplace(Path(sys.argv[1]), sys.argv[2]) as place:
    (place / "half").write_text("half")
    print("made", flush=True)
    time.sleep(600)
"""


def killed_while_making(folder: Path, prefix: str) -> Path:
    """What a process has left in ``folder`` that was killed in the middle of it."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKING, str(folder), prefix], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        (left,) = folder.iterdir()
        # While it lives it is nobody's to remove.
        remove_abandoned(folder, prefix)
        assert (left / "half").exists()
        process.send_signal(signal.SIGKILL)
    return left


def test_what_a_killed_process_left_goes_when_the_next_one_begins(tmp_path: Path) -> None:
    left = killed_while_making(tmp_path, PREFIX)
    assert left.exists()
    with workplace(tmp_path, PREFIX) as place:
        assert list(tmp_path.iterdir()) == [place]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_export_left_goes_with_the_next_export_there(tmp_path: Path) -> None:
    killed_while_making(tmp_path, UNFINISHED)
    with written(tmp_path / "next") as unfinished:
        unfinished.write_text("whole")
    assert [found.name for found in tmp_path.iterdir()] == ["next"]


def test_what_a_killed_import_left_goes_with_the_next_server_and_its_folder_too(tmp_path: Path) -> None:
    folder = tmp_path / "runs.db.imported"
    folder.mkdir()
    killed_while_making(folder, ".arriving-")
    Imports(folder).sweep()
    assert not folder.exists()


def test_only_folders_of_that_name_go(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    (tmp_path / f"{PREFIX}00000000").symlink_to(elsewhere)
    (tmp_path / f"{PREFIX}notes").mkdir()
    (tmp_path / f"{PREFIX}11111111").write_text("a file")
    before = sorted(found.name for found in tmp_path.iterdir())
    remove_abandoned(tmp_path, PREFIX)
    assert sorted(found.name for found in tmp_path.iterdir()) == before
    assert (elsewhere / "mine").read_text() == "mine"


def test_two_at_once_keep_apart(tmp_path: Path) -> None:
    with workplace(tmp_path, PREFIX) as one, workplace(tmp_path, PREFIX) as two:
        assert one != two
        assert one.is_dir()
        assert two.is_dir()


def test_a_folder_that_was_taken_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    mkdir = Path.mkdir

    def made_and_taken(self: Path, mode: int = 0o777) -> None:
        mkdir(self, mode)
        if not taken:
            taken.append(self)
            self.rmdir()

    monkeypatch.setattr(Path, "mkdir", made_and_taken)
    place = Workplace(tmp_path, PREFIX)
    place.make()
    assert place.path not in taken
    assert list(tmp_path.iterdir()) == [place.path]
    place.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_takes_what_is_being_made_with_it(tmp_path: Path, number: int, status: int) -> None:
    program = (
        "import pathlib, sys, time\n"
        "from kvarium.workplace import workplace\n"
        "try:\n"
        "    with workplace(pathlib.Path(sys.argv[1]), '.kvarium-') as outer, workplace(outer, 'copy-') as inner:\n"
        "        (inner / 'half').write_text('made so far')\n"
        "        print('there', flush=True)\n"
        "        time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "there\n"
            assert list(tmp_path.iterdir()) != []
            process.send_signal(number)
            assert process.wait(30) == status
        finally:
            process.kill()
    assert list(tmp_path.iterdir()) == []
