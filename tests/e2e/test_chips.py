"""The block tables of the page: chips that are drawn, and found by where they are."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from kvarium.bench.viewed import viewed
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import becomes, chips, classes, passes, ready, settled, state

pytestmark = pytest.mark.e2e

_GROUNDS = """chips => {
  const canvas = document.querySelector('.tables canvas');
  const box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  const ground = (name) => {
    const probe = document.createElement('canvas').getContext('2d');
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data];
  };
  const drawn = chips.map(({ x, y }) =>
    [...canvas.getContext('2d').getImageData((x - box.left) * ratio, (y - box.top - 7) * ratio, 1, 1).data]);
  return { ratio, drawn, grounds: ['active', 'shared', 'copy'].map((kind) => ground(`--chip-${kind}`)) };
}"""


def table_of(found: dict[str, Any], sequence: int) -> list[int]:
    return [block for of, _, _, block in found["tables"] if of == sequence]


def test_chips_are_of_their_blocks_and_a_pointer_finds_them(
    recording: Recording, open_page: Pages, tmp_path: Path
) -> None:
    with viewed(recording.path, tmp_path) as url:
        page = open_page(f"{url}/?session={recording.session}&step=60", device_scale_factor=2)
        ready(page)
        found = state(page)
        states = classes(found)
        rows = page.locator(".tables .sequence")
        sequences = settled(
            page, lambda: rows.evaluate_all("rows => rows.map((row) => Number(row.dataset.sequence))")
        )
        sequence = next(each for each in sequences if len(table_of(found, each)) > 1)
        row = page.locator(f'.tables .sequence[data-sequence="{sequence}"]')
        table = table_of(found, sequence)
        right = [(block, states[block] == "shared") for block in table]
        becomes(page, lambda: [(chip["block"], chip["shared"]) for chip in chips(row)], right)
        shown = settled(page, lambda: chips(row))
        expect(row).to_have_accessible_name(re.compile(rf"blocks {' '.join(map(str, table))}$"))
        # Sharp where a CSS pixel is two of the device's, and of the palette's colours.

        def check_drawn() -> None:
            drawn = page.evaluate(_GROUNDS, shown)
            assert drawn["ratio"] == pytest.approx(2, abs=0.02)
            for block, colour in zip(table, drawn["drawn"], strict=True):
                assert colour in drawn["grounds"], (
                    f"block {block} is drawn in {colour}, of {drawn['grounds']}"
                )

        passes(page, check_drawn)
        chip = shown[1]
        page.mouse.move(chip["x"], chip["y"])
        expect(row).to_have_attribute(
            "title", re.compile(rf"^block {chip['block']} · {states[chip['block']]}")
        )
        expect(row).to_have_class(re.compile(r"\bholds\b"))
        page.mouse.click(chip["x"], chip["y"])
        expect(page.locator(".inspector .big").first).to_contain_text(str(chip["block"]))
        # Beside the chips the row is clicked; then arrows go through its blocks.
        page.mouse.click(shown[0]["x"], shown[0]["y"] - 20)
        expect(row).to_have_attribute("aria-selected", "true")
        page.locator(".tables").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".inspector .big").first).to_contain_text(str(table[0]))
