"""The recording can't be written while a page watches: it goes on, says what is lost from where, and nothing else is damaged.

disk full   a real small filesystem that fills up, and is given room again
locked      another program holds the database
removed     the file is deleted
"""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.backend.recorder import locked
from tests.backend.running_server import wait_for
from tests.backend.server_process import ServerProcess, kvarium, process
from tests.e2e.conftest import Pages
from tests.e2e.page import wait_light, wait_steps

pytestmark = pytest.mark.e2e

NOT_RECORDED = ".footer b.red"
ENGINE = ("--num-gpu-blocks-override", "256", "--step-ms", "10")


@contextmanager
def recording_to(db: Path) -> Iterator[ServerProcess]:
    with process("serve", "--port", "0", "--db", str(db), *ENGINE) as server:
        server.wait_ready().wait_line("engine linked")
        yield server


def told(server: ServerProcess) -> str | None:
    """What the server says of its session's recording."""
    with server.http() as http:
        error: str | None = http.get("/api/sessions").json()["sessions"][0]["recording_error"]
    return error


def assert_shown(page: Page, why: str) -> None:
    """The page says that it is not recorded, and since when and why where one points at it."""
    expect(page.locator(NOT_RECORDED)).to_have_text("not recorded")
    expect(page.locator(NOT_RECORDED)).to_have_attribute("title", re.compile(re.escape(why)))
    expect(page.locator(NOT_RECORDED)).to_have_attribute("title", re.compile("from record [0-9]+ on"))


def assert_live(page: Page) -> None:
    wait_light(page, "green")
    wait_steps(page, 20)
    wait_light(page, "green")


def test_a_full_disk(small_disk: Path, open_page: Pages) -> None:
    db = small_disk / "recording.db"
    with recording_to(db) as server:
        page = open_page(server.url)
        assert_live(page)
        (small_disk / "ballast").write_bytes(bytes(1 << 20))
        fill(small_disk)
        wait_for(lambda: told(server) is not None)
        error = told(server)
        assert error is not None
        assert "not recorded from record " in error
        assert "full" in error
        assert_shown(page, "not recorded from record")
        assert_live(page)
        # There is room again: what was kept meanwhile is stored, and nothing was lost.
        for each in small_disk.glob("fill*"):
            each.unlink()
        (small_disk / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
        wait_for(lambda: told(server) is None)
        expect(page.locator(NOT_RECORDED)).to_have_count(0)
        assert_live(page)
        server.interrupt()
        assert server.wait() == 0
        assert "can be written again: nothing was lost" in server.text
    assert_verified(db)


def fill(place: Path) -> None:
    """Write until there is no room."""
    size = 1 << 20
    number = 0
    while size >= 512:
        try:
            (place / f"fill{number}").write_bytes(bytes(size))
        except OSError:
            (place / f"fill{number}").unlink(missing_ok=True)
            size //= 2
        number += 1


def assert_verified(db: Path) -> None:
    done = kvarium("verify", "--db", str(db), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["violations"], found["gaps"]) == (0, 0)


@pytest.mark.slow
def test_a_locked_database(tmp_path: Path, open_page: Pages) -> None:
    db = tmp_path / "recording.db"
    with recording_to(db) as server:
        page = open_page(server.url)
        assert_live(page)
        with locked(db):
            wait_for(lambda: "database is locked" in (told(server) or ""))
            assert_shown(page, "database is locked")
            assert_live(page)
        wait_for(lambda: told(server) is None)
        expect(page.locator(NOT_RECORDED)).to_have_count(0)
        server.interrupt()
        assert server.wait() == 0
    assert_verified(db)


@pytest.mark.slow
def test_a_file_that_is_removed(tmp_path: Path, open_page: Pages) -> None:
    db = tmp_path / "recording.db"
    with recording_to(db) as server:
        page = open_page(server.url)
        assert_live(page)
        db.unlink()
        wait_for(lambda: "is gone" in (told(server) or ""))
        assert_shown(page, "is gone")
        assert_live(page)
        server.interrupt()
        assert server.wait() == 1
        assert "Traceback" not in server.text
        assert server.errors[-1].endswith("they are lost")
