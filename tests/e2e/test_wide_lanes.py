"""The timeline's lanes over more steps than it has pixels: they are what the Python fold says of when each request came, ran and ended."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium_ledger import codec
from kvarium_ledger.decisions import Preempted
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Step
from tests.backend.server_process import kvarium, process
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes, ready, settled, until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STATES = ("waiting", "running", "preempted", "mixed")
"""As the page numbers them."""
OPTIONS = ("--num-gpu-blocks-override", "90", "--max-num-seqs", "3", "--speed", "0", "--step-ms", "0")

COLOURS = """([y, xs]) => {
  const canvas = document.querySelector('.timeline .lane canvas');
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height);
  const context = copy.getContext('2d');
  context.drawImage(canvas, 0, 0);
  const box = canvas.getBoundingClientRect();
  const ratio = width / box.width;
  const at = (x, y) => [...context.getImageData(Math.round((x - box.left) * ratio), Math.floor((y - box.top) * ratio), 1, 1).data].join();
  return xs.map(x => [at(x, y + 2), [0, 1, 2, 3].map(d => at(x + d, y)).sort().join(' ')]);
}"""
"""Of a row whose middle is at ``y``: what stands below its middle at each ``x``, and what in it."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A recording of more than 4,096 steps in which few requests run at a time, wait for each other and preempt each other."""
    folder = tmp_path_factory.mktemp("long")
    trace = folder / "trace.jsonl"
    lines = [
        {"timestamp": 0, "input_length": 40 + at, "output_length": 300 + 17 * at, "hash_ids": [at]}
        for at in range(24)
    ]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = folder / "recording.db"
    done = kvarium(
        "serve", "--port", "0", "--db", str(path), "--exit-with-engine", "--trace", str(trace), *OPTIONS
    )
    assert done.returncode == 0, done.stderr
    with process("view", str(path), "--port", "0", "--no-open") as server:
        yield server.wait_ready().url, path


class Careers:
    """What the Python fold says of every request: the steps in which it was there, and whether it was preempted in between."""

    def __init__(self, path: Path) -> None:
        database = open_for_reading(str(path))
        reader = Reader(database)
        self.session = reader.sessions()[0]["id"]
        hello = reader.hello(1)[0]
        fold = Fold(hello.num_blocks, hello.block_size)
        self.states: list[dict[int, str]] = []
        self.preempted: set[int] = set()
        for frame in reader.frames(1):
            record: Any = codec.open_frame(frame.bytes)
            assert fold.apply(record) == []
            if isinstance(record, Step):
                assert record.step == len(self.states)
                self.states.append({request: row.state for request, row in fold.state.requests.items()})
                self.preempted |= {each.request for each in record.decisions if isinstance(each, Preempted)}
        database.close()

    def expected(self, request: int, step: int, ran: set[int]) -> str | None:
        """How the timeline shows a request in a step, of which ``ran`` have run by then."""
        if self.states[step].get(request) is None:
            return None
        if request not in ran:
            return "waiting"
        return "mixed" if request in self.preempted else "running"


def lanes(page: Page) -> Any:
    until(
        page,
        "(lanes => lanes !== null && !lanes.isLoading && lanes.rows.length > 0)(window.kvarium.lanes())",
    )
    return settled(page, lambda: page.evaluate("window.kvarium.lanes()"))


def test_lanes_over_thousands_of_steps_are_what_the_fold_says_and_so_are_their_pixels(
    long: tuple[str, Path], open_page: Pages
) -> None:
    url, path = long
    careers = Careers(path)
    steps = len(careers.states)
    assert steps > 4096 + 100
    assert careers.preempted
    page = open_page(f"{url}/?session={careers.session}&step=2000&steps=all")
    ready(page)
    until(page, "steps => (window.kvarium.lanes()?.to ?? 0) >= steps", steps - 1)
    told = lanes(page)
    assert not told["isTooWide"]
    assert told["holes"] == []
    assert told["total"] == len({request for states in careers.states for request in states})
    rows = {row["request"]: row for row in told["rows"]}
    # Those that are there where the view is come first, by arrival.
    here = sorted(careers.states[2000])
    assert [row["request"] for row in told["rows"]][: len(here)] == here[: len(rows)]
    ran: set[int] = set()
    ends: dict[int, int] = {}
    for step, states in enumerate(careers.states):
        ran |= {request for request, state in states.items() if state == "running"}
        for request, row in rows.items():
            spans = zip(*[iter(row["spans"])] * 3, strict=True)
            shown = [STATES[state] for first, end, state in spans if first <= step < end]
            expected = careers.expected(request, step, ran)
            # In the step that it ends in it is there still.
            is_end = row["end"] is not None and row["end"]["step"] == step
            assert shown == ([] if expected is None else [expected]) or is_end, (request, step)
            if is_end:
                ends[request] = step
    for request, end in ends.items():
        assert request in careers.states[end - 1]
        assert request not in careers.states[end]
    _check_pixels(page, told)
    # A part of it, as wide.
    page.evaluate("history.replaceState(null, '', location.href)")
    page.reload()
    ready(page)
    becomes(page, lambda: [row["request"] for row in lanes(page)["rows"]], list(rows))


def _check_pixels(page: Page, told: Any) -> None:
    """Each state has a look of its own, and no row another than its spans say."""
    box = page.locator(".timeline .lane").bounding_box()
    assert box is not None
    left, right = box["x"] + 62, box["x"] + box["width"] - 16
    scale = (right - left) / (told["to"] - told["from"])
    looks: dict[str, set[tuple[str, str]]] = {}
    view = left + (2000 - told["from"]) * scale
    shown = page.evaluate("Math.min(window.kvarium.lanes().tops.length, window.kvarium.lanes().rows.length)")
    for row, top in list(zip(told["rows"], told["tops"], strict=True))[:shown]:
        spans = [tuple(row["spans"][at : at + 3]) for at in range(0, len(row["spans"]), 3)]
        edges = [left + (step - told["from"]) * scale for span in spans for step in span[:2]]
        xs = [left + 7 + at * (right - left - 20) / 60 for at in range(60)]
        xs = [x for x in xs if all(abs(x - edge) > 8 for edge in [*edges, view])]
        if top["y"] > box["y"] + box["height"] - 40:
            continue
        for x, (below, middle) in zip(xs, page.evaluate(COLOURS, [top["y"], xs]), strict=True):
            step = told["from"] + (x - left) / scale
            state = next((STATES[of] for first, end, of in spans if first <= step < end), "none")
            looks.setdefault(state, set()).add((below, middle))
    assert {"waiting", "running", "mixed", "none"} == set(looks)
    for state in ("running", "waiting", "none"):
        assert len({below for below, _ in looks[state]}) == 1, (state, looks[state])
    assert len(looks["none"]) == 1
    all_looks = [look for found in looks.values() for look in found]
    assert len(all_looks) == len(set(all_looks)), looks
    assert {below for below, _ in looks["mixed"]} == {below for below, _ in looks["running"]}
