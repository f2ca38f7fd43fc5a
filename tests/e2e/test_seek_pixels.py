"""Random seeks in a recording that the page does not hold: what is drawn is the state of the Python fold, block by block."""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Record
from tests.backend.server_process import ServerProcess, kvarium, process
from tests.e2e.conftest import Pages, Recording, read_recording
from tests.e2e.page import assert_pixels_are, becomes, ready, rests, same, seek, settled, state, until
from tests.plain_state import plain_state

pytestmark = pytest.mark.e2e

BLOCKS = 4096
"""More than one row of texels, and each with pixels of its own."""

SHOWN = "window.kvarium.mapShown()"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """400 steps on 4,096 blocks: some 170,000 operations, many times what a seek brings."""
    path = tmp_path_factory.mktemp("long") / "long.db"
    done = kvarium(
        *("serve", "--port", "0", "--db", str(path), "--exit-with-engine", "--step-ms", "0", "--lossless"),
        *("--runner", "null", "--steps", "400", "--num-gpu-blocks-override", str(BLOCKS), "--seed", "9"),
    )
    assert done.returncode == 0, done.stderr
    return read_recording(path)


@pytest.fixture(scope="module")
def viewing(long: Recording) -> Iterator[ServerProcess]:
    with process("view", str(long.path), "--port", "0", "--no-open") as server:
        yield server.wait_ready()


def states_after(recording: Recording, steps: set[int]) -> dict[int, dict[str, Any]]:
    """The states after some steps, in one pass of the Python fold."""
    fold = Fold(recording.hello.num_blocks, recording.hello.block_size)
    found: dict[int, dict[str, Any]] = {}
    for frame in recording.frames:
        record = codec.open_frame(frame)
        if getattr(record, "step", -1) > fold.step and fold.step in steps:
            found[fold.step] = plain_state(fold)
        assert isinstance(record, Record)
        assert fold.apply(record) == []
    if fold.step in steps:
        found[fold.step] = plain_state(fold)
    return found


def test_what_a_random_seek_draws_is_the_state_of_the_python_fold(
    viewing: ServerProcess, long: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    # From the beginning to the end at once: what lies there can't be here yet.
    steps = [long.steps - 1, *(rng.randrange(long.steps) for _ in range(3 if size == "small" else 40))]
    expected = states_after(long, set(steps))
    page = open_page(f"{viewing.url}/?session={long.session}&step=0")
    ready(page)
    for step in steps:
        seek(page, step)
        until(page, f"step => {SHOWN}?.step === step && {SHOWN}.settled", step)
        shown = page.evaluate(SHOWN)
        assert shown["verified"], f"step {step} was drawn before its digest was compared: {shown}"
        same(state(page), expected[step])
        assert_pixels_are(page, expected[step])
    (worker,) = page.workers
    asked = worker.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    assert sum("/seek?" in url for url in asked) > 1, (
        "every step was here already: the recording is too short for this test"
    )


@pytest.mark.slow
def test_no_picture_on_the_way_is_told_to_be_verified_before_its_digest_was_compared(
    viewing: ServerProcess, long: Recording, open_page: Pages, rng: random.Random
) -> None:
    """Of many seeks in a row each replaces the one before; whatever is drawn and settled meanwhile was compared."""
    page = open_page(f"{viewing.url}/?session={long.session}&step=0")
    ready(page)
    until(page, f"{SHOWN} !== null")
    steps = [rng.randrange(long.steps) for _ in range(12)]
    drawn = page.evaluate(
        """async steps => {
          const drawn = [];
          const last = steps[steps.length - 1];
          for (const step of steps) {
            void window.kvarium.seek(step);
            await new Promise(requestAnimationFrame);
            drawn.push({ ...window.kvarium.mapShown() });
          }
          await window.kvarium.ready();
          const end = performance.now() + 60000;
          while (performance.now() < end && window.kvarium.mapShown().step !== last) {
            await new Promise(requestAnimationFrame);
            drawn.push({ ...window.kvarium.mapShown() });
          }
          drawn.push({ ...window.kvarium.mapShown() });
          return drawn;
        }""",
        steps,
    )
    assert drawn[-1]["step"] == steps[-1], "the latest seek wins"
    wrong = [each for each in drawn if each["settled"] and not each["verified"]]
    assert wrong == [], wrong


@pytest.mark.slow
def test_a_state_is_fetched_while_the_pointer_rests_and_gone_to_without_asking_again(
    viewing: ServerProcess, long: Recording, open_page: Pages
) -> None:
    page = open_page(f"{viewing.url}/?session={long.session}&step=0")
    ready(page)
    (worker,) = page.workers

    def sought() -> list[int]:
        names = worker.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
        return [int(found[1]) for name in names if (found := re.search(r"/seek\?step=(\d+)", name))]

    page.locator(".timeline").get_by_text("all", exact=True).click()
    until(page, "document.querySelector('.timeline .lane canvas').width > 0")
    box = page.locator(".timeline .lane").bounding_box()
    assert box is not None
    rests(page)
    before = len(settled(page, sought))
    x, y = box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.55
    page.mouse.move(x, y)
    # Asked for while the pointer rests.
    becomes(page, lambda: len(sought()) > before, True)
    page.mouse.down()
    page.mouse.up()
    ready(page)
    asked = sought()[before:]
    (step,) = asked
    assert state(page)["step"] == step > long.steps // 2
    same(state(page), states_after(long, {step})[step])
