"""A disk that is full: what can't be written is named as it was asked for, why, and what to do; and nothing is left of it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.running_server import running
from tests.backend.test_cli import Run, one_line, run

__all__ = ["run"]

ROOM = 300 << 10


@pytest.fixture
def full(small_disk: Path) -> Iterator[Path]:
    """A folder on a disk with hardly any room left; what is in it but the filler is an error."""
    (small_disk / "filler").write_bytes(bytes((8 << 20) - ROOM))
    yield small_disk
    assert [found.name for found in small_disk.iterdir()] == ["filler"]


@pytest.mark.parametrize("strip", [[], ["--strip-text", "hash"]], ids=["whole", "stripped"])
@pytest.mark.parametrize("kind", ["kvarium", "parquet", "jsonl", "perfetto", "html"])
def test_an_export_that_finds_no_room_names_its_place(
    run: Run, mixed: Path, full: Path, kind: str, strip: list[str], request: pytest.FixtureRequest
) -> None:
    options = list(strip)
    if kind == "html":
        request.getfixturevalue("built_page")
        options += ["--answers", "0"]  # they take long, and no room
    place = full / "made"
    done = run("export", str(mixed), "--format", kind, "-o", str(place), *options)
    assert done.returncode == 1
    assert one_line(done.stderr.splitlines()[-1]) == (
        f"kvarium: can't write {place}: the disk is full; nothing was written: make room there, or say where with --output"
    )


def test_a_copy_of_a_session_that_finds_no_room_names_its_place(run: Run, mixed: Path, full: Path) -> None:
    place = full / "copy.db"
    done = run("sessions", "export", "latest", str(place), "--db", str(mixed))
    assert done.returncode == 1
    assert one_line(done.stderr) == (
        f"kvarium: can't write {place}: the disk is full; nothing was written: make room there, or give another FILE"
    )


def test_a_file_that_finds_no_room_beside_the_recording_is_not_imported(
    run: Run, recorded: tuple[Path, str], mixed: Path, small_disk: Path
) -> None:
    db = small_disk / "recording.db"
    shutil.copy(recorded[0], db)
    left = shutil.disk_usage(small_disk).free
    (small_disk / "filler").write_bytes(bytes(left - ROOM))
    done = run("sessions", "import", str(mixed), "--db", str(db))
    assert done.returncode == 1
    assert one_line(done.stderr) == (
        f"kvarium: can't copy {mixed} to {db}.imported: the disk is full; nothing was imported: make room there"
    )
    assert sorted(found.name for found in small_disk.iterdir()) == ["filler", "recording.db"]


@pytest.mark.parametrize("path", ["download", "download?strip_text=none", "export?format=jsonl"])
def test_a_server_without_room_for_a_download_says_where_it_makes_it(
    recorded: tuple[Path, str], full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    copy = tmp_path / "recording.db"
    shutil.copy(recorded[0], copy)
    with running(copy, read_only=True) as server:
        monkeypatch.setattr(tempfile, "tempdir", str(full))
        answer = server.http.get(f"/api/sessions/{recorded[1]}/{path}", timeout=120)
    assert answer.status_code == 507
    assert answer.json()["detail"] == (
        f"the file can't be made: the disk is full; the server makes it in {full}: "
        "make room there, or start the server with TMPDIR at another place"
    )


def test_a_recording_that_finds_no_room_is_told_by_the_option_that_names_it(
    run: Run, recorded: tuple[Path, str], small_disk: Path
) -> None:
    (small_disk / "filler").write_bytes(bytes(shutil.disk_usage(small_disk).free - 8192))
    db = small_disk / "new.db"
    for option, command in (
        ("--db", ["serve", "--no-engine", "--port", "0"]),
        ("--record-to", ["replay", str(recorded[0]), "--serve", "--port", "0", "--no-open"]),
    ):
        done = run(*command, option, str(db))
        assert done.returncode == 1
        assert one_line(done.stderr) == (
            f"kvarium: can't write the recording {db}: the disk is full: "
            f"make room on its disk, or choose another place with {option}"
        )
