"""What stands behind every view of the page is what the Python fold says, wherever the view came from."""

import random

import pytest

from tests.backend.server_process import ServerProcess
from tests.e2e.behind import STATE, Behind, wait_told
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import assert_pixels_are, ready, seek, until
from tests.e2e.truth import Truth
from tests.plain_state import plain_state

pytestmark = pytest.mark.e2e


@pytest.mark.timeout(1200)
def test_the_state_behind_each_view_is_the_python_fold_s_at_random_steps_forwards_and_backwards(
    viewing: ServerProcess, recording: Recording, open_page: Pages, rng: random.Random, size: str
) -> None:
    steps = [rng.randrange(1, recording.steps) for _ in range(4 if size == "small" else 100)]
    truth = Truth(recording, {each for step in steps for each in (step - 1, step)})
    page = open_page(f"{viewing.url}/?session={recording.session}&step=0")
    ready(page)
    for step in steps:
        before, after = truth.fold(step - 1), truth.fold(step)
        requests = sorted(before.state.requests.keys() | after.state.requests.keys())
        block, request = rng.randrange(after.state.blocks.num_blocks), rng.choice(requests or [0])
        page.evaluate("what => window.kvarium.select(what)", {"block": block, "request": request})
        # From somewhere else, back by one step and on again by one; each with another panel in the centre.
        centres = rng.sample("345", 3)
        for key, fold, centre in zip((None, ",", "."), (after, before, after), centres, strict=True):
            if key is None:
                seek(page, step)
            else:
                page.keyboard.press(key)
                until(page, "step => window.kvarium.position().step === step", fold.step)
                ready(page)
            behind = Behind(truth, fold, block, request)
            wait_told(page, {STATE: behind.check_state})
            page.keyboard.press(centre)
            if centre == "3":
                # It comes up with nothing in it.
                until(
                    page,
                    "size => window.kvarium.mapPixels().blocks.length === size",
                    fold.state.blocks.num_blocks,
                )
                until(page, "step => window.kvarium.mapShown()?.step === step", fold.step)
                assert_pixels_are(page, plain_state(fold))
            look_up = {"block request": behind.check_stories, "series": behind.check_timeline}
            if centre == "4":
                look_up["tree"] = behind.check_tree
            elif centre == "5":
                look_up["events"] = behind.check_events
            wait_told(page, look_up)
