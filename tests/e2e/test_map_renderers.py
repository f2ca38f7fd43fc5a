"""The map looks alike whoever draws it: WebGL2, or where there is no GPU for it the page itself."""

import base64
from typing import Any, TypeAlias

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.backend.server_process import ServerProcess
from tests.e2e.conftest import Pages, Recording
from tests.e2e.page import assert_pixels_are, passes, ready, settled, until

pytestmark = pytest.mark.e2e

CLAIM_A_GPU = """
const ask = WebGL2RenderingContext.prototype.getParameter;
WebGL2RenderingContext.prototype.getParameter = function (name) {
  const found = ask.call(this, name);
  return name === 0x9246 /* UNMASKED_RENDERER_WEBGL */ || name === this.RENDERER ? 'a GPU' : found;
};
"""
"""What plays a GPU in Chromium tells another name, so that the page takes it for one."""

IS_WEBGL = "document.querySelector('.map canvas').getContext('webgl2') !== null"

READ = """async () => {
  const from = document.querySelector('.map canvas');
  const context = new OffscreenCanvas(from.width, from.height).getContext('2d');
  context.drawImage(from, 0, 0);
  const { data } = context.getImageData(0, 0, from.width, from.height);
  const url = await new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(new Blob([data]));
  });
  return [from.width, from.height, url.slice(url.indexOf(',') + 1)];
}"""

Picture: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
SIZES = [None, (90, 60), (24, 19), (11, 9)]
"""CSS pixels of the map for 256 blocks: from cells with bars to several cells a pixel."""


def resized(page: Page, size: tuple[int, int] | None) -> None:
    if size is not None:
        width, height = size
        page.add_style_tag(
            content=f".map {{ flex: none !important; width: {width}px !important; height: {height}px !important }}"
        )
        until(page, f"document.querySelector('.map canvas').width === {width}")
    drawn_again(page)


def drawn_again(page: Page) -> None:
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200))))"
    )


def read(page: Page) -> Picture:
    """``[height, width, 4]``: what is on the map's canvas."""
    width, height, data = settled(page, lambda: page.evaluate(READ))
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)


def check_alike(ours: Picture, theirs: Picture) -> None:
    assert ours.shape == theirs.shape
    # A GPU rounds otherwise: a little everywhere, and at the edge of a cell to the other side.
    far = np.abs(ours.astype(int) - theirs) > 3
    assert far.mean() <= 0.005, f"{far.sum()} of {far.size} values differ in a map of {ours.shape[:2]}"


def test_the_map_looks_alike_with_and_without_a_gpu(
    viewing: ServerProcess, recording: Recording, open_page: Pages
) -> None:
    step = recording.steps // 2
    url = f"{viewing.url}/?session={recording.session}&step={step}"
    # Without motion the glow of the step stays as it is.
    plain = open_page(url, reduced_motion="reduce")
    drawn = open_page(url, script=CLAIM_A_GPU, reduced_motion="reduce")
    for page in (plain, drawn):
        ready(page)
    until(drawn, IS_WEBGL)
    until(plain, f"!({IS_WEBGL})")
    expected = recording.state_after(step)
    for size in SIZES:
        for page in (plain, drawn):
            resized(page, size)
            assert_pixels_are(page, expected)
            drawn_again(page)
        passes(plain, lambda: check_alike(read(plain), read(drawn)))
