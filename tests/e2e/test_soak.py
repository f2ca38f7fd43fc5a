"""A long run of the real thing with a page that watches: memory stays flat, and in the end three folds agree with the engine.

    engine (its objects, walked) ── digest of an audited keyframe ──┐
    server's mirror              ── digest of the keyframe it makes ├── equal
    page's fold                  ── its lanes at that record        │
    kvarium verify               ── folds all of it again          ─┘

Memory is what each process holds (its resident pages), looked at all the way: an early window, when what is bounded (the
server's ring, the page's history) has begun to fill, is compared with the last one.
"""

import json
import os
import statistics
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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
ALLOWED_BYTES = {
    "small": {"engine": 16 * _MIB, "server": 48 * _MIB, "mirror": 24 * _MIB, "page": 96 * _MIB},
    "full": {"engine": 112 * _MIB, "server": 48 * _MIB, "mirror": 24 * _MIB, "page": 192 * _MIB},
}
"""How much more than early each may hold late.

The engine remembers up to 2 × 262,144 contents, some 190 bytes each, and gets there after 8 million operations; the server's
ring has 32 MiB; the page keeps history, and a row a step.
"""


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def running(part: str) -> set[int]:
    """The processes whose command line has ``part`` in it."""
    every = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return {pid for pid in every if part in command_line(pid)}


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_SIZE
    except OSError:
        return 0


class Watcher:
    """Looks at the memory of some processes twice a second."""

    def __init__(self, pids: dict[str, set[int]]) -> None:
        self.pids = pids
        self.seen: dict[str, list[int]] = defaultdict(list)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._ends.wait(0.5):
            for name, pids in self.pids.items():
                self.seen[name].append(sum(map(resident, pids)))

    @contextmanager
    def looking(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ends.set()
            self._thread.join()

    def assert_flat(self, allowed: dict[str, int]) -> None:
        for name, seen in self.seen.items():
            count = len(seen)
            assert count >= 8, "too short a run to say anything"
            early = statistics.median(seen[int(count * 0.4) : int(count * 0.55)])
            late = statistics.median(seen[int(count * 0.85) :])
            grown = late - early
            assert early > 0, f"{name} was not looked at"
            assert grown < allowed[name], (
                f"{name}: {early / _MIB:.0f} MiB early, {late / _MIB:.0f} MiB late: {[each // _MIB for each in seen]}"
            )


def lanes(digest: Digest) -> dict[str, list[int]]:
    return {
        name: list(struct.unpack("<2I", getattr(digest, name))) for name in ("blocks", "tables", "requests")
    }


def follow(server: ServerProcess, session: str) -> Watch:
    return Watch(f"{server.url.replace('http', 'ws', 1)}/api/sessions/{session}/live")


@pytest.mark.timeout(3600)
def test_a_long_run_keeps_memory_flat_and_ends_with_equal_digests(
    tmp_path: Path, open_page: Pages, size: str
) -> None:
    operations, step_ms = (300_000, 8) if size == "small" else (10_000_000, 0.5)
    db = tmp_path / "soak.db"
    others = running("--type=renderer") | running("kvarium.mirror_process")
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
                    "mirror": running("kvarium.mirror_process") - others,
                    "page": running("--type=renderer") - others,
                }
            )
            deadline = time.monotonic() + (120 if size == "small" else 3000)
            with watcher.looking():
                while http.get(f"/api/sessions/{session}").json()["operations"] < operations:
                    assert time.monotonic() < deadline, "the engine is too slow"
                    time.sleep(0.25)
                    assert wait_light(page, "green")
            ask("hold")
            ask("keyframe")
            record = http.get(f"/api/sessions/{session}").json()["last_record"]

        # The mirror's own digest, once it has folded all; then the page's.
        with follow(server, session) as watch:
            watch.until(lambda found: isinstance(found, Status) and (found.fold_record or 0) >= record, 10**7)
        with follow(server, session) as watch:
            mirrored = watch.until(lambda found: isinstance(found, Keyframe))[-1]
        assert isinstance(mirrored, Keyframe)
        until(page, "record => window.kvarium.position().record >= record", record, 60)
        ready(page)
        shown = state(page)
        wait_light(page, "green")
        server.interrupt()
        assert server.wait(120) == 0
    watcher.assert_flat(ALLOWED_BYTES[size])

    done = kvarium("verify", "latest", "--db", str(db), "--json", timeout=1200)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["digest_mismatches"], told["violations"], told["gaps"]) == (0, 0, 0)
    assert told["operations"] >= operations
    engine = audited(db, shown["record"])
    assert lanes(engine.digest) == lanes(mirrored.digest) == shown["lanes"]


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
