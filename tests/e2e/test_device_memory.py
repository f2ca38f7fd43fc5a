"""The device's memory as a strip: of a card, of an engine that tells a part, and of one that has none; live and replayed."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kvarium_engine.card_memory import MemoryShares
from tests.backend.hand_engine import hand_frames, hello, record_of
from tests.backend.running_server import running
from tests.e2e.conftest import Pages
from tests.e2e.page import becomes, ready

pytestmark = pytest.mark.e2e

MIB = 1 << 20
CARD = MemoryShares.of_card(1000 * MIB, 300 * MIB, 400 * MIB, 240 * MIB, 10 * MIB, 60 * MIB)


def shares(page: Page) -> dict[str, str]:
    """What the strip says of each share: the size, or that it is not told."""
    rows = page.get_by_test_id("memory").locator("[data-share]")
    told: dict[str, str] = rows.evaluate_all(
        "all => Object.fromEntries(all.map(each => [each.dataset.share, each.querySelector('dd').firstChild.textContent.trim()]))"
    )
    return told


def test_the_memory_of_a_device_is_told_live_and_replayed(tmp_path: Path, open_page: Pages) -> None:
    config = {
        f"memory_{name}_bytes": getattr(CARD, name)
        for name in ("total", "weights", "kv_cache", "activations", "graphs", "other", "free")
    }
    frames = hand_frames(5)
    card = {
        "weights": "400 MiB",
        "kv_cache": "240 MiB",
        "activations": "60.0 MiB",
        "graphs": "10.0 MiB",
        "other": "50.0 MiB",
        "free": "240 MiB",
        "total": "1000 MiB",
    }
    cpu = dict.fromkeys(card, "not told") | {"weights": "7.00 MiB", "kv_cache": "24.0 MiB"}
    with running(tmp_path / "memory.db") as server:
        for told, expected in (
            (config, card),
            ({"memory_weights_bytes": 7 * MIB, "memory_kv_cache_bytes": 24 * MIB}, cpu),
        ):
            greeting = hello(kv_bytes_per_block=MIB, config=told)
            url = f"http://127.0.0.1:{server.port}/?session={greeting.session}"
            with server.engine(greeting) as engine:
                engine.send(frames)
                engine.wait_acked(record_of(frames[-1]))
                page = open_page(url)
                ready(page)
                becomes(page, lambda page=page: shares(page), expected)  # type: ignore[misc]
                engine.bye()
            page = open_page(f"{url}&step=1")
            ready(page)
            becomes(page, lambda page=page: shares(page), expected)  # type: ignore[misc]
        bar = page.locator(".memory .strip i")
        becomes(
            page, lambda: bar.evaluate_all("all => all.map(each => each.className)"), ["weights", "kv_cache"]
        )
        expect(page.locator(".settings")).not_to_contain_text("memory_weights_bytes")


@pytest.mark.slow
def test_an_engine_without_tensors_has_no_memory_of_a_device(tmp_path: Path, open_page: Pages) -> None:
    frames = hand_frames(2)
    with running(tmp_path / "none.db") as server, server.engine() as engine:
        engine.send(frames)
        engine.wait_acked(record_of(frames[-1]))
        page = open_page(f"http://127.0.0.1:{server.port}/?session={engine.hello.session}")
        ready(page)
        expect(page.get_by_test_id("memory")).to_contain_text("this runner has no tensors")
