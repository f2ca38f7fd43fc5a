"""A gap in a recording is a gap in the timeline: at its steps nothing is drawn, and a mark says what was lost."""

from pathlib import Path

import msgspec
import pytest

from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import AnyRecord, Gap, Step
from tests.backend.running_server import running
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, ready

pytestmark = pytest.mark.e2e

STEPS = 200
"""So few that each has some pixels of its own."""
FIRST, LAST = 80, 119
"""The steps that are lost."""
LEFT, RIGHT, MARKS = 62, 16, 25
"""CSS pixels of the timeline left and right of its steps, and from its top to the middle of its marks."""
KNOWN = """([left, right, steps]) => {
  const canvas = document.querySelector('.timeline .lane canvas');
  const { width, height } = canvas;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(canvas, 0, 0);
  const ratio = width / canvas.getBoundingClientRect().width;
  const wide = (width - (left + right) * ratio) / steps;
  const found = [];
  for (let step = 0; step < steps; step++) {
    const x = Math.floor(left * ratio + (step + 0.5) * wide);
    // Below the marks, where the pool's use begins: in use or free, it has a colour.
    if (context.getImageData(x, Math.round(40 * ratio), 1, 1).data[3] === 255) found.push(step);
  }
  return found;
}"""
"""The steps at which anything is drawn of how the pool is used."""
TIP = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.querySelector('.lane .tip')?.innerText ?? ''))))"""


def with_gap(recording: Recording) -> list[bytes]:
    """The recording's first steps, of which some never came; a keyframe behind them, as the engine sends it."""
    fold = Fold(recording.hello.num_blocks, recording.hello.block_size)
    kept: list[AnyRecord] = []
    lost: list[int] = []
    for frame in recording.frames:
        record = codec.open_frame(frame)
        if getattr(record, "step", -1) >= STEPS:
            break
        if lost and isinstance(record, Step) and record.step == LAST + 1:
            gap = Gap(
                record=record.record,
                time=fold.time,
                first=lost[0],
                last=record.record - 1,
                reason="the server was away",
            )
            kept += [gap, fold.keyframe(utc_us=recording.hello.utc_us)]
        assert fold.apply(record) == []  # type: ignore[arg-type]
        if lost and fold.step <= LAST:
            continue
        if isinstance(record, Step) and record.step == FIRST:
            lost.append(record.record)
            continue
        kept.append(record)  # type: ignore[arg-type]
    first = kept.index(next(record for record in kept if isinstance(record, Gap)))
    # What is behind the gap has come later by the two records that tell of it.
    moved = [kept[first], msgspec.structs.replace(kept[first + 1], record=kept[first].record + 1)]
    moved += [msgspec.structs.replace(each, record=each.record + 2) for each in kept[first + 2 :]]
    return [codec.seal(each) for each in [*kept[:first], *moved]]


def test_a_gap_is_empty_in_the_timeline_at_its_own_steps_and_a_mark_says_why(
    recording: Recording, open_page: Pages, tmp_path: Path
) -> None:
    frames = with_gap(recording)
    with running(tmp_path / "gap.db") as server:
        engine = server.engine(recording.hello)
        engine.send(frames)
        engine.bye()
        server.wait_indexed(recording.hello.session, codec.open_frame(frames[-1]).record)  # type: ignore[union-attr]
        page = open_page(
            f"http://127.0.0.1:{server.port}/?session={recording.session}&step=150&steps=0-{STEPS - 1}"
        )
        ready(page)
        known = [*range(FIRST), *range(LAST + 1, STEPS)]
        becomes(page, lambda: page.evaluate(KNOWN, [LEFT, RIGHT, STEPS]), known)
        box = page.locator(".timeline .lane").bounding_box()
        assert box is not None
        wide = (box["width"] - LEFT - RIGHT) / STEPS
        told = {}
        for step in (FIRST - 1, (FIRST + LAST) // 2, LAST + 1):
            page.mouse.move(box["x"] + LEFT + (step + 0.5) * wide, box["y"] + MARKS)
            told[step] = page.evaluate(TIP)
        assert "the server was away" in told[FIRST - 1], told
