"""A long run of the real thing with a page that watches: memory stays flat, and in the end three folds agree with the engine.

    engine (its objects, walked) ── digest of an audited keyframe ──┐
    server's mirror              ── digest of the keyframe it makes ├── equal
    page's fold                  ── its lanes at that record        │
    kvarium verify               ── folds all of it again          ─┘

Memory is looked at all the way: what each process holds (its resident pages), and of the page also what is left once its
garbage is collected. Looks at 40 to 55 % of the run, when what is bounded has begun to fill, are compared with those of the
last 15 %; so is the CPU time that an operation takes, as a long session must not become a slow one.

What may grow is what is bounded by design, as far as it is not full yet at the early looks (:func:`allowed_bytes`).
"""

import json
import os
import statistics
import struct
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from playwright.sync_api import Page

from kvarium.bench.heaps import Heaps
from kvarium.recording import tables
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium_ledger import codec
from kvarium_ledger.messages import Hello, Status
from kvarium_ledger.records import Digest, Keyframe
from tests.backend.running_server import Watch
from tests.backend.server_process import ServerProcess, kvarium, process
from tests.e2e.conftest import Pages
from tests.e2e.page import ready, state, until, wait_light

pytestmark = pytest.mark.e2e

_MIB = 1 << 20
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
SLACK_BYTES = {
    # Where a machine has too much to do, what is not acknowledged yet takes up to 64 MiB, and an allocator keeps that.
    "engine": 64 * _MIB,
    # The ring of the newest records has 32 MiB, and is full early.
    "server": 16 * _MIB,
    "mirror": 12 * _MIB,
    # History drops a quarter of its 64 MiB of records at once.
    "page, collected": 40 * _MIB,
    # And between two collections there is garbage.
    "page": 96 * _MIB,
}
_REMEMBERED = 2 << 18
"""The engine remembers two generations of contents (:class:`~kvarium_engine.memory.prefix_cache.PrefixCache`) …"""
_CONTENT_BYTES = 300
"""… each a key of its parent and tokens, and a number."""
_STEP_BYTES = 68
"""The page keeps a row a step for its timeline, in columns that double …"""
_PARENT_BYTES = 4
"""… and as the mirror does the parent of every content."""
LOOKS = 20
SLOWER = 1.5
"""How much more CPU time an operation may take late than early: caches are fuller then."""


class Look(NamedTuple):
    """One look at all processes: how far the session is, and what each holds (bytes) and has used (CPU s)."""

    operations: int
    record: int
    step: int
    bytes: dict[str, int]
    seconds: dict[str, float]


def allowed_bytes(early: Look, late: Look, contents: tuple[int, int]) -> dict[str, int]:
    """How much more each may hold late than early; ``contents`` were interned by then."""
    remembered = [min(count, _REMEMBERED) for count in contents]
    steps = 2 * _STEP_BYTES * (late.step - early.step)
    parents = 2 * _PARENT_BYTES * (contents[1] - contents[0])
    grown = {
        "engine": _CONTENT_BYTES * (remembered[1] - remembered[0]),
        "mirror": parents,
        "page": steps + parents,
        "page, collected": steps + parents,
    }
    return {name: slack + grown.get(name, 0) for name, slack in SLACK_BYTES.items()}


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def mirrors(server: int) -> set[int]:
    """The processes in which a server folds: others' run beside it."""
    every = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    return {pid for pid in every if "kvarium.mirror_process" in command_line(pid) and parent(pid) == server}


def renderers(page: Page) -> set[int]:
    """The processes of the pages of one browser: others' run beside it."""
    browser = page.context.browser
    assert browser is not None
    told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return {each["id"] for each in told if each["type"] == "renderer"}


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_SIZE
    except OSError:
        return 0


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Watcher:
    """Looks at some processes and at a page's heaps, again and again."""

    def __init__(self, pids: dict[str, set[int]], heaps: Heaps) -> None:
        self._pids = pids
        self._heaps = heaps
        self.looks: list[Look] = []

    def look(self, row: dict[str, Any]) -> None:
        """``row`` is the session's, as the server tells it."""
        collected = self._heaps.held()
        self.looks.append(
            Look(
                row["operations"],
                row["last_record"],
                row["last_step"],
                {name: sum(map(resident, pids)) for name, pids in self._pids.items()}
                | {"page, collected": collected},
                {name: sum(map(cpu_seconds, pids)) for name, pids in self._pids.items()},
            )
        )

    @property
    def early(self) -> list[Look]:
        last = self.looks[-1].operations
        found = [each for each in self.looks if 0.4 <= each.operations / last <= 0.55]
        # A machine that stood still may not have looked then.
        return found or [min(self.looks, key=lambda each: abs(each.operations - 0.475 * last))]

    @property
    def late(self) -> list[Look]:
        return [each for each in self.looks if each.operations / self.looks[-1].operations >= 0.85]

    def assert_flat(self, allowed: dict[str, int]) -> None:
        for name, allowance in allowed.items():
            early, late = (
                statistics.median(each.bytes[name] for each in looks) for looks in (self.early, self.late)
            )
            assert early > 0, f"{name} was not looked at"
            told = f"{name}: {early / _MIB:.0f} MiB early, {late / _MIB:.0f} late, {allowance / _MIB:.0f} more are allowed"
            print(told)
            assert late - early < allowance, f"{told}: {[each.bytes[name] // _MIB for each in self.looks]}"

    def assert_no_slower(self) -> None:
        """The CPU time of an operation between 20 and 50 % of the run, and in its last 30 %."""
        last = self.looks[-1]
        first, middle, then = (
            min(self.looks, key=lambda each: abs(each.operations - part * last.operations))
            for part in (0.2, 0.5, 0.7)
        )
        # The mirror may lag where there is too much to do, and fold more late than early.
        for name in self._pids.keys() - {"mirror"}:
            early, late = (
                (to.seconds[name] - since.seconds[name]) / (to.operations - since.operations) * 1e6
                for since, to in ((first, middle), (then, last))
            )
            told = f"{name}: {early:.1f} µs an operation early, {late:.1f} late"
            print(told)
            assert late < SLOWER * early, told


def lanes(digest: Digest) -> dict[str, list[int]]:
    return {
        name: list(struct.unpack("<2I", getattr(digest, name))) for name in ("blocks", "tables", "requests")
    }


def follow(server: ServerProcess, session: str) -> Watch:
    return Watch(f"{server.url.replace('http', 'ws', 1)}/api/sessions/{session}/live")


@pytest.mark.timeout(2400)
def test_a_long_run_keeps_memory_flat_and_ends_with_equal_digests(
    tmp_path: Path, open_page: Pages, size: str
) -> None:
    operations, step_ms = (150_000, 8) if size == "small" else (10_000_000, 0.5)
    db = tmp_path / "soak.db"
    options = ("--num-gpu-blocks-override", "1024", "--step-ms", str(step_ms), "--no-lossless")
    with process("serve", "--port", "0", "--db", str(db), *options) as server:
        server.wait_ready().wait_line("engine linked")
        page = open_page(server.url)
        wait_light(page, "green")
        with server.http() as http:
            row = http.get("/api/sessions").json()["sessions"][0]
            session = row["id"]
            hello = codec.open_frame(http.get(f"/api/sessions/{session}/hello").content)
            assert isinstance(hello, Hello)

            def ask(name: str, /, **args: Any) -> None:
                answer = http.post(f"/api/sessions/{session}/commands", json={"name": name, "args": args})
                assert answer.status_code == 200, answer.text

            watcher = Watcher(
                {
                    "engine": {hello.pid},
                    "server": {server.pid},
                    "mirror": mirrors(server.pid),
                    "page": renderers(page),
                },
                Heaps(page),
            )
            deadline = time.monotonic() + (1200 if size == "small" else 2000)
            while (row := http.get(f"/api/sessions/{session}").json())["operations"] < operations:
                assert time.monotonic() < deadline, "the engine is too slow"
                if row["operations"] >= len(watcher.looks) * operations / LOOKS:
                    watcher.look(row)
                    wait_light(page, "green")
                else:
                    page.wait_for_timeout(250)
            watcher.look(row)
            ask("hold")
            ask("keyframe")
            record = http.get(f"/api/sessions/{session}").json()["last_record"]

        # The mirror's own digest, once it has folded all; then the page's.
        with follow(server, session) as watch:
            watch.until(lambda found: isinstance(found, Status) and (found.fold_record or 0) >= record, 10**7)
        with follow(server, session) as watch:
            mirrored = watch.until(lambda found: isinstance(found, Keyframe))[-1]
        assert isinstance(mirrored, Keyframe)
        until(page, "record => window.kvarium.position().record >= record", record, 120)
        ready(page)
        shown = state(page)
        wait_light(page, "green")
        server.interrupt()
        assert server.wait(120) == 0
    early, late = watcher.early[0], watcher.late[-1]
    allowed = allowed_bytes(early, late, (contents_by(db, early.record), contents_by(db, late.record)))
    watcher.assert_flat(allowed)
    if size == "full":
        watcher.assert_no_slower()

    done = kvarium("verify", "latest", "--db", str(db), "--json", timeout=1200)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["digest_mismatches"], told["violations"], told["gaps"]) == (0, 0, 0)
    assert told["operations"] >= operations
    engine = audited(db, shown["record"])
    assert lanes(engine.digest) == lanes(mirrored.digest) == shown["lanes"]


def contents_by(db: Path, record: int) -> int:
    """How many contents were interned by a record."""
    database = open_for_reading(str(db))
    try:
        with database.engine.connect() as connection:
            columns = tables.content.c
            query = sa.select(sa.func.max(columns.last)).where(columns.first_record <= record)
            return int(connection.execute(query).scalar() or 0) + 1
    finally:
        database.close()


def audited(db: Path, record: int) -> Keyframe:
    """The keyframe that the engine computed of its own objects, after which nothing changed up to ``record``."""
    database = open_for_reading(str(db))
    try:
        reader = Reader(database)
        found = [codec.open_frame(frame.bytes) for frame in reader.frames(1, record - 20)]
    finally:
        database.close()
    engines = [
        each for each in found if isinstance(each, Keyframe) and each.audited and each.record <= record
    ]
    assert engines, [type(each).__name__ for each in found[:40]]
    return engines[-1]
