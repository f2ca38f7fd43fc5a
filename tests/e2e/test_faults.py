"""The light turns red: for one flipped byte on the way, and for any change behind the ledger's back."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.workload.mix import Mix
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.link import Link
from tests.backend.running_server import TOKEN
from tests.backend.server_process import ServerProcess, kvarium, serving
from tests.e2e.conftest import Pages
from tests.e2e.page import ready, wait_light
from tests.e2e.proxy import proxy
from tests.ledger.greeting import greeting

pytestmark = pytest.mark.e2e

BLOCKS = 64


def test_one_byte_flipped_between_hub_and_page_turns_the_light_red(
    live: ServerProcess, open_page: Pages
) -> None:
    with proxy(int(live.url.rsplit(":", 1)[1])) as way:
        page = open_page(f"http://127.0.0.1:{way.port}")
        ready(page)
        wait_light(page, "green")

        def flip(payload: bytes) -> bytes:
            way.change = lambda payload: payload
            changed = bytearray(payload)
            changed[len(changed) // 2] ^= 0x10
            return bytes(changed)

        way.change = flip
        red = wait_light(page, "red")
        assert red["message"]
        page.wait_for_timeout(500)
        assert wait_light(page, "red") == red, "the light stays red"
        expect(page.locator("body")).to_contain_text(str(red["record"]))


class Tampered:
    """The real engine in a thread, linked to a server, audited at each step; ``between`` is run once between two steps."""

    def __init__(self, url: str) -> None:
        hello = greeting(BLOCKS, 16)
        self.link = Link(url.replace("http://", "ws://") + "/api/engine", TOKEN, hello)
        config = EngineConfig(BLOCKS, 16, SchedulerConfig(512, 16, BLOCKS * 16, "fcfs"), audit_interval=1)
        self.engine = Engine(config, NullRunner(0, 5.0, 40), Ledger(self.link.put))
        self.between: Callable[[Engine], bool] | None = None
        self.tampered = False
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        mix = Mix(BLOCKS, 16, 16, seed=1)
        while not self.stop.is_set():
            mix.feed(self.engine)
            if self.between is not None and self.between(self.engine):
                self.between = None
                self.tampered = True
                # Audited at once: a step might stumble over the change before its own audit can tell of it.
                self.engine.step_without_work()
            try:
                self.engine.step()
            except (AssertionError, IndexError):
                if self.tampered:
                    return  # the engine itself stumbled over the change; the audit before has told of it
                raise


@contextmanager
def tampered(url: str) -> Iterator[Tampered]:
    run = Tampered(url)
    run.link.start()
    assert run.link.connected.wait(60)
    run.thread.start()
    try:
        yield run
    finally:
        run.stop.set()
        run.thread.join(60)
        run.link.close(timeout=2)


def a_count(engine: Engine) -> bool:
    """A block in use gets one more holder, and no operation says so."""
    for block, count in enumerate(engine.pool.state.count):
        if count:
            engine.pool.state.count[block] += 1
            return True
    return False


def a_table_entry(engine: Engine) -> bool:
    """An entry of a block table points to another block."""
    for request in engine.scheduler.roster.requests.values():
        for sequence in request.live:
            if len(sequence.table) > 1:
                sequence.table[0] = (sequence.table[0] + 1) % BLOCKS
                return True
    return False


def a_queue_entry(engine: Engine) -> bool:
    """A block's entry in the free queue is another block's."""
    queue = engine.pool.queue
    walk = queue.walk()
    if len(walk) < 4:
        return False
    queue._order[queue._order.index(walk[2], queue._head)] = walk[3]
    return True


@pytest.mark.parametrize("change", [a_count, a_table_entry, a_queue_entry])
def test_a_change_behind_the_ledgers_back_turns_the_light_red(
    change: Callable[[Engine], bool], open_page: Pages, tmp_path: Path
) -> None:
    with serving(tmp_path / "tampered.db") as server, tampered(server.url) as run:
        page = open_page(server.url)
        ready(page)
        wait_light(page, "green")
        run.between = change
        red = wait_light(page, "red")
        # Either the audit or digest tells, or, when that step touches the block before it is audited, the operation itself.
        assert any(word in red["message"] for word in ("audit", "differ", "operation")), red["message"]
        page.wait_for_timeout(300)
        assert wait_light(page, "red")["record"] == red["record"], "the first fault stays"
    told = kvarium("verify", "latest", "--db", str(tmp_path / "tampered.db"), "--json")
    assert told.returncode == 1
    found = json.loads(told.stdout)
    assert found["digest_mismatches"] + found["violations"] > 0
