"""The list of sessions: named, annotated, removed, exported and brought by a person with keys and a file in the hand."""

import base64
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.backend.running_server import RunningServer, running
from tests.e2e.conftest import GONE, Pages, Recording

pytestmark = pytest.mark.e2e

DROP = """([name, data]) => {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name));
  for (const type of ['dragover', 'drop'])
    document.querySelector('.landing').dispatchEvent(
      new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def keeping(recording: Recording, tmp_path: Path) -> Iterator[RunningServer]:
    """A server that has the recording, and nothing live."""
    shutil.copy(recording.path, tmp_path / "runs.db")
    with running(tmp_path / "runs.db") as server:
        yield server


def opened(server: RunningServer, open_page: Pages) -> Page:
    return open_page(f"http://127.0.0.1:{server.port}/")


def drop(page: Page, name: str, data: bytes) -> None:
    page.evaluate(DROP, [name, base64.b64encode(data).decode()])


def test_a_session_is_found_named_annotated_exported_removed_and_brought_back(
    keeping: RunningServer, recording: Recording, open_page: Pages
) -> None:
    open_page.forgive("status of 422")
    page = opened(keeping, open_page)
    rows = page.locator(".landing tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.get_by_role("img", name="Usage: at most")).to_be_visible()

    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("no such thing")
    expect(page.get_by_text("No session has “no such thing”")).to_be_visible()
    page.keyboard.press("Escape")
    expect(rows).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(rows).to_be_focused()
    page.keyboard.press("F2")
    written = page.locator(".editable")
    expect(written).to_be_focused()
    page.keyboard.type("<b>two</b> tenants 🐟")
    page.keyboard.press("Enter")
    expect(rows.locator(".name")).to_have_text("<b>two</b> tenants 🐟")
    expect(rows).to_be_focused()
    page.keyboard.press("n")
    expect(written).to_be_focused()
    page.keyboard.type("never mind")
    page.keyboard.press("Escape")
    expect(rows.locator(".remark")).to_have_text("add a note")
    expect(rows).to_be_focused()
    page.keyboard.press("n")
    expect(written).to_be_focused()
    page.keyboard.type("the first eviction comes late")
    page.keyboard.press("Enter")
    expect(rows.locator(".remark")).to_have_text("the first eviction comes late")
    told = keeping.get(f"/sessions/{recording.session}/notes")["notes"]
    assert [(note["text"], note["step"]) for note in told] == [
        ("the first eviction comes late", recording.steps - 1)
    ]

    expect(rows).to_be_focused()
    page.keyboard.press("e")
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="Export", exact=True).click()
    copy = download.value.path()
    assert download.value.suggested_filename.endswith(f"-{recording.session[:8]}.db")
    with sqlite3.connect(copy) as connection:
        assert connection.execute("SELECT id, steps FROM session").fetchall() == [
            (recording.session, recording.steps)
        ]
    connection.close()

    dialog = page.get_by_role("dialog")
    expect(dialog).to_have_count(0)
    page.keyboard.press("Delete")
    expect(dialog).to_contain_text("This can’t be undone.")
    page.keyboard.press("Escape")
    # A key that follows at once is not taken for the closed dialog's.
    page.keyboard.press("Delete")
    expect(dialog).to_have_count(1)
    expect(rows).to_have_count(1)
    dialog.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("given back to the disk")).to_be_visible()
    expect(page.get_by_text("Nothing is recorded yet.")).to_be_visible()
    expect(page.get_by_text("kvarium demo")).to_be_visible()

    data = Path(copy).read_bytes()
    drop(page, "cut <i>off</i>.db", data[: len(data) // 2])
    expect(page.locator(".transfers .failed")).to_contain_text("is cut off")
    drop(page, "holiday.db", data)
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("imported")
    expect(rows.locator(".remark")).to_be_disabled()
    page.keyboard.press("ArrowDown")
    expect(rows).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".bar .name b")).to_have_text("<b>two</b> tenants 🐟")


def test_what_a_page_cannot_do_is_said_with_its_reason(
    recording: Recording, open_page: Pages, tmp_path: Path
) -> None:
    open_page.forgive(*GONE)
    shutil.copy(recording.path, tmp_path / "runs.db")
    server = RunningServer(tmp_path / "runs.db", read_only=True)
    page = opened(server, open_page)
    expect(page.get_by_role("button", name="Import a file")).to_be_disabled()
    expect(page.get_by_role("button", name="Remove mix")).to_be_disabled()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".landing tbody tr")).to_be_focused()
    page.keyboard.press("Delete")
    expect(page.get_by_role("alert")).to_contain_text("opened read-only")
    page.keyboard.press("F2")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".editable")).to_have_count(0)
    server.stop()
    expect(page.locator(".notice")).to_contain_text("The server does not answer.")
    expect(page.locator(".landing tbody tr")).to_have_count(1)
