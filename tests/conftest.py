"""What every test may use: the size of the run, seeds, shared data, a browser's path; and the closing lines.

Tests that need torch are marked ``model``; those in tests/model are so by where they are. Without torch that folder is not
collected, as its files import torch, and others that are marked are skipped.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import random
import re
import secrets
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kvarium_engine.errors import UsageError
from kvarium_engine.model import store
from tests import longest

ROOT = Path(__file__).resolve().parent.parent
SIZES = ("small", "full")
PARTS = ("all", "light", "model")
TORCH = importlib.util.find_spec("torch") is not None
SEED = pytest.StashKey[int]()

# Nothing looks for a network, in the processes that tests start neither. One core is left to what runs beside the engine:
# threads that wait for one another by spinning slow everything down when they are more than the cores.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) - 1)))

# Machines are noisy: no deadline. The small run is the same each time; the full one looks further each time.
settings.register_profile(
    "small",
    derandomize=True,
    deadline=None,
    max_examples=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "full", deadline=None, max_examples=500, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kvarium")
    group.addoption(
        "--size",
        choices=SIZES,
        default=os.environ.get("KVARIUM_TEST_SIZE", "small"),
        help="small: minutes on two cores (the default; also $KVARIUM_TEST_SIZE); full: large and slow tests too",
    )
    group.addoption(
        "--part",
        choices=PARTS,
        default="all",
        help="light: the tests that need no torch; model: the others; all: both, as far as there is torch (the default)",
    )
    group.addoption(
        "--seed",
        type=int,
        default=None,
        help="seed of the random tests; by default 0 when small, a new one when full",
    )


def pytest_configure(config: pytest.Config) -> None:
    size = config.getoption("--size")
    seed = config.getoption("--seed")
    config.stash[SEED] = seed if seed is not None else 0 if size == "small" else secrets.randbelow(2**31)
    settings.load_profile(size)


def pytest_report_header(config: pytest.Config) -> str:
    header = f"kvarium: size {config.getoption('--size')}, seed {config.stash[SEED]}"
    if not TORCH and config.getoption("--part") != "light":
        header += "; no torch here, so tests/model is not collected (make setup makes an environment with it)"
    return header


@pytest.hookimpl(trylast=True)  # after the markers that folders give
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("--part")
    if part != "all":
        left_out = [item for item in items if (item.get_closest_marker("model") is None) == (part == "model")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    for item in items:
        if item.get_closest_marker("model") is not None and not TORCH:
            item.add_marker(pytest.mark.skip(reason="model: needs torch (make setup)"))
        for name in ("slow", "install"):
            if config.getoption("--size") == "small" and item.get_closest_marker(name) is not None:
                item.add_marker(pytest.mark.skip(reason=f"{name}: runs with --size full (make test-all)"))
                break
    if "PYTEST_XDIST_WORKER" in os.environ:
        seconds = longest.SECONDS[config.getoption("--size")]
        items.sort(key=lambda item: -seconds.get(item.nodeid.partition("::")[0], 0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed and ("seed" in item.fixturenames or "rng" in item.fixturenames):
        report.sections.append(("seed", f"repeat with: --seed {item.config.stash[SEED]}"))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skips by reason, whatever file they come from; $KVARIUM_TEST_SUMMARY gets it all in short."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[re.sub(r"^Skipped: ", "", reason)] += 1
    if reasons:
        terminalreporter.section(f"{sum(reasons.values())} skipped")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count:5d}  {reason}")
    told = os.environ.get("KVARIUM_TEST_SUMMARY")
    if told:
        seconds: Counter[str] = Counter()
        for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
        terminalreporter.section("longest files (tests/longest.py)")
        for name, took in seconds.most_common(25):
            terminalreporter.line(f"{took:5.0f} s  {name}")
        parts, _ = terminalreporter.build_summary_stats_line()
        counts = ", ".join(text for text, _ in parts if "deselected" not in text) or "no tests"
        lines = [counts, *(f"  {count:5d}  {reason}" for reason, count in reasons.most_common())]
        Path(told).write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="session")
def size(pytestconfig: pytest.Config) -> str:
    """``small`` or ``full``: how large a test makes its data."""
    return str(pytestconfig.getoption("--size"))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """This test's own seed, derived from the run's (``--seed``); a failure prints how to repeat it."""
    return zlib.crc32(f"{request.config.stash[SEED]} {request.node.nodeid}".encode())


@pytest.fixture
def rng(seed: int) -> random.Random:
    """A generator seeded with ``seed``."""
    return random.Random(seed)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Give the path of a file of the shared data (``$KVARIUM_DATA``, else ``../shared/data``), or skip the test."""
    folder = Path(os.environ.get("KVARIUM_DATA") or ROOT.parent / "shared" / "data")

    def find(name: str) -> Path:
        path = folder / name
        if not path.exists():
            pytest.skip(f"no shared data: {name} is not in $KVARIUM_DATA nor in ../shared/data")
        return path

    return find


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The folder of SmolLM2 135M in the user's cache, or skip the test."""
    try:
        return store.find("smollm2-135m")
    except UsageError as error:
        pytest.skip(f"no model: {error}")


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Give the path of a Chromium (``scripts/chromium.sh --find``), or skip the test."""
    found = subprocess.run(
        [ROOT / "scripts" / "chromium.sh", "--find"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip("no Chromium: scripts/chromium.sh installs one, or set CHROMIUM=/path/to/it")
    return found.stdout.strip()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 8 MiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", place], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("no small filesystem: only root may mount one")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests (``pytest.mark.anyio``) run on asyncio."""
    return "asyncio"
