"""``kvarium demo`` with the real model, as a person meets it: live, a prompt of one's own, and the recording afterwards."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pytest
from playwright.sync_api import Page, expect

from kvarium_ledger import codec
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import Step
from tests.backend.server_process import ServerProcess, kvarium, process
from tests.e2e.conftest import GONE, Pages, Recording, read_recording
from tests.e2e.page import (
    assert_pixels_are,
    becomes,
    passes,
    pixels,
    ready,
    same,
    seek,
    state,
    until,
    wait_light,
)

pytestmark = [pytest.mark.e2e, pytest.mark.model, pytest.mark.timeout(900)]


SLOW = 300.0
"""s for what a model does where other things run beside it."""


@dataclass
class Demo:
    """A demo that runs."""

    server: ServerProcess
    db: Path


@pytest.fixture(scope="module")
def demo(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    db = tmp_path_factory.mktemp("demo") / "demo.db"
    with process("demo", "--no-browser", "--port", "0", "--db", str(db)) as server:
        yield Demo(server.wait_ready(), db)


def test_the_demo_from_its_first_operation_to_its_recording(demo: Demo, open_page: Pages) -> None:
    open_page.forgive(*GONE)
    page = open_page(demo.server.url)
    until(page, "window.kvarium.position().op > 0", timeout=SLOW)
    ready(page)
    wait_light(page, "green")
    before = pixels(page)
    until(page, "step => window.kvarium.position().step >= step", 12, timeout=SLOW)

    def check_changed() -> None:
        assert sum(before[block] != colour for block, colour in pixels(page).items()) > 5

    passes(page, check_changed, SLOW)

    page.keyboard.press("p")
    page.locator("textarea[name=prompt]").fill("What is the capital of France?")
    page.locator("input[name=temperature]").fill("0")
    page.keyboard.press("Control+Enter")
    card = page.locator("article.sent").first
    expect(card).to_contain_text("The capital of France is Paris.", timeout=1000 * SLOW)
    request = int(card.get_attribute("data-request") or "")
    wait_light(page, "green")
    keys_and_values_are_read(page)

    # All that there is happens in a demo before long, on a fast machine sooner.
    def happened() -> set[Operation]:
        page.wait_for_timeout(2000)
        return set(kinds_of(read_recording(demo.db)))

    becomes(page, happened, set(Operation), SLOW)
    demo.server.interrupt()
    assert demo.server.wait(120) == 0, demo.server.text
    expect(page.locator(".badge")).to_have_text("replay")
    page.close()

    recording = read_recording(demo.db)
    kinds = kinds_of(recording)
    verified = kvarium("verify", "latest", "--db", str(demo.db), "--json")
    assert verified.returncode == 0, verified.stderr
    found = json.loads(verified.stdout)
    assert found["operations"] == sum(kinds.values())
    assert [found[name] for name in ("digest_mismatches", "violations", "gaps")] == [0, 0, 0]
    replayed(recording, request, open_page)


def kinds_of(recording: Recording) -> Counter[Operation]:
    records = (codec.open_frame(frame) for frame in recording.frames)
    steps = (record for record in records if isinstance(record, Step))
    return Counter(Operation(kind) for step in steps for kind in step.operations.kind)


def select_block(page: Page) -> None:
    """A full one, by its address."""
    until(page, "window.kvarium.state().then(({ filled }) => filled.includes(16))")
    filled = state(page)["filled"]
    parts = urlsplit(page.url)
    query = dict(parse_qsl(parts.query)) | {"block": str(filled.index(16))}
    page.goto(urlunsplit(parts._replace(query=urlencode(query))))
    ready(page)


def keys_and_values_are_read(page: Page) -> None:
    """Of a block of the answer, while the engine is held; no recording has them."""
    engine = page.get_by_role("toolbar", name="The engine")
    # Out of the prompt, where Shift+Space is a space.
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Space")
    expect(engine).to_contain_text("engine held")
    select_block(page)
    device = page.get_by_role("region", name="Keys and values")
    device.get_by_role("button", name="Read from the device").click()
    planes = device.get_by_role("img")
    expect(planes).to_have_count(2)
    expect(planes.first).to_have_accessible_name(
        re.compile(r"Norms of the keys in 30 layers and 3 heads, from \d")
    )
    expect(device).to_contain_text("mean of slots 0 to 15")
    device.get_by_role("combobox").select_option("3")
    expect(device).to_contain_text("slot 3, after step")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Space")
    expect(engine).to_contain_text("engine running")


def replayed(recording: Recording, request: int, open_page: Pages) -> None:
    """The finished recording opens; scrubbed, it is what the Python fold says, and the answer is there."""
    with process("view", str(recording.path), "--port", "0", "--no-open") as server:
        page = open_page(f"{server.wait_ready().url}/?session={recording.session}")
        ready(page)
        for step in (recording.steps - 1, recording.steps // 3, 7, recording.steps // 2):
            seek(page, step)
            expected = recording.state_after(step)
            same(state(page), expected)
            assert_pixels_are(page, expected)
            wait_light(page, "green")
        page.goto(f"{server.url}/?session={recording.session}&step={recording.steps - 1}&request={request}")
        ready(page)
        expect(page.locator(".inspector")).to_contain_text("The capital of France is Paris.")
        select_block(page)
        expect(page.get_by_role("region", name="Keys and values")).to_contain_text("Not recorded")
